"""Argo CD 3.6 in memory: what it decides and what it does, on clusters of `whysync.kubernetes`."""
