"""Schemas: the types of Kubernetes, of Argo CD's own kinds, and of the available CRDs."""
