"""Argo CD's sync operation: tasks, dry run, waves, hooks, prunes, and its messages."""
