"""Argo CD could not compare: manifests were not rendered, or the cluster was not read."""
