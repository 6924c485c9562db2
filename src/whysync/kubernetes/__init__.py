"""Kubernetes 1.36 in memory: API server, admission, controllers, scheduler, kubelets."""
