"""Argo CD's application controller, and the part of its API server that matters, on clusters in memory.

`ArgoCD` takes part in a `Timeline`: it refreshes, compares, starts syncs by itself, carries operations on
step by step, and keeps each Application's status as the real one would write it. Nothing waits and nothing
is random: the same start gives the same bytes.
"""

from __future__ import annotations

from whysync.engine.argocd.controller import ArgoCD
from whysync.engine.argocd.destination import IN_CLUSTER, Destination
from whysync.engine.argocd.pace import Pace
from whysync.engine.argocd.repository import (
    Folder,
    GitRepositories,
    GitRepository,
    Outage,
    Rendered,
    RepoProblem,
    Repository,
)
from whysync.engine.argocd.server import Denied
from whysync.engine.argocd.trace import Moment, What

__all__ = [
    "IN_CLUSTER",
    "ArgoCD",
    "Denied",
    "Destination",
    "Folder",
    "GitRepositories",
    "GitRepository",
    "Moment",
    "Outage",
    "Pace",
    "Rendered",
    "RepoProblem",
    "Repository",
    "What",
]
