"""Argo CD has not looked, or looks elsewhere."""
