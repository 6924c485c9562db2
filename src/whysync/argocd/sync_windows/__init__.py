"""Sync windows of AppProjects."""
