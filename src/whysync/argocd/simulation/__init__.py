"""Clusters, Argo CD and other writers on one clock."""
