"""Inputs and result of one pass of the controller over a sync operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.json_tree import Json, Object


class SyncTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync compares with: raw sources and their revisions, or local manifests instead."""

    sources: tuple[Object, ...]
    revisions: tuple[str, ...]
    manifests: tuple[str, ...] = ()


class NotCompared(Exception):
    """The comparison failed; the text becomes the message of the operation."""


class AppSync(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a pass.

    `compare` compares the Application with a target and may raise `NotCompared`; `cluster_ops` returns the
    destination for an impersonated user (empty means Argo CD itself).
    """

    application: Object
    project: AppProject
    settings: Settings
    clusters: Sequence[Cluster]
    compare: Callable[[SyncTarget], Comparison]
    cluster_ops: Callable[[str], ClusterOps]
    now: datetime
    project_clusters: Sequence[Cluster] | None = ()


class SyncPass(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a pass, as Argo CD writes it to the status of the Application."""

    operation_state: Object
    history: list[Json] | None = None
    """The new history, if the sync has succeeded and is recorded."""
    comparison: Comparison | None = None
