"""How objects have to look: the types of Kubernetes, of Argo CD's own kinds, and of the CRDs at hand."""
