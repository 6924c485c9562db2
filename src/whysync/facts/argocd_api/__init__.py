"""Argo CD's REST API as a source of facts: read-only; apps are only refreshed on request."""

from __future__ import annotations

from whysync.facts.argocd_api.reader import read_argocd
from whysync.facts.argocd_api.server import ArgoServer

__all__ = ["ArgoServer", "read_argocd"]
