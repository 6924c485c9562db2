"""Text of Argo CD and Kubernetes, parsed into typed failures."""
