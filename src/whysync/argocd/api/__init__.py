"""Argo CD's API types: Application, AppProject, conditions, operation state."""
