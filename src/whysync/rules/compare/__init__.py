"""Argo CD could not compare: rendering the manifests or reading the cluster failed."""
