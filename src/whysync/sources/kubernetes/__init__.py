"""Facts straight from the Kubernetes API, with nothing but a kubeconfig."""

from __future__ import annotations

from whysync.sources.kubernetes.access import KubeAccess
from whysync.sources.kubernetes.reader import read_kubernetes

__all__ = ["KubeAccess", "read_kubernetes"]
