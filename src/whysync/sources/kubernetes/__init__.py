"""Facts straight from the Kubernetes API, with nothing but a kubeconfig."""

from __future__ import annotations
