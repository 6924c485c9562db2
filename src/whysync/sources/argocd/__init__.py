"""Argo CD's REST API as a source of facts: read-only, and nothing is refreshed unless somebody asks."""

from __future__ import annotations

from whysync.sources.argocd.reader import read_argocd
from whysync.sources.argocd.server import ArgoServer

__all__ = ["ArgoServer", "read_argocd"]
