"""Mistakes that files alone show, before anything is synced."""
