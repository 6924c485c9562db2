"""The Kubernetes API as a source of facts, with only a kubeconfig."""

from __future__ import annotations

from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.reader import read_kubernetes

__all__ = ["KubeAccess", "read_kubernetes"]
