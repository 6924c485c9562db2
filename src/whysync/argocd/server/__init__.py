"""Argo CD's API server, as far as the simulation needs it."""
