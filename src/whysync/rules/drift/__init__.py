"""Argo CD compared, and Git and the cluster differ."""
