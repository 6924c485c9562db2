"""What the controller's turn with an operation takes, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.json_tree import Json, Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a sync compares with: raw sources, their revisions, and manifests that were sent instead."""

    sources: tuple[Object, ...]
    revisions: tuple[str, ...]
    manifests: tuple[str, ...] = ()


class NotCompared(Exception):
    """The comparison could not be made at all; the text becomes the operation's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSync:
    """What the controller knows when it takes up an operation.

    `compare` compares the Application with what is wanted and may raise `NotCompared`; `cluster_ops` is the
    destination, as it answers the user of that name (the empty one is Argo CD itself).
    """

    application: Object
    project: AppProject
    settings: Settings
    clusters: Sequence[Cluster]
    compare: Callable[[Wanted], Comparison]
    cluster_ops: Callable[[str], ClusterOps]
    now: datetime
    project_clusters: Sequence[Cluster] | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPass:
    """What a turn leaves behind, as Argo CD writes it to the status of the Application."""

    operation_state: Object
    history: list[Json] | None = None
    """The whole history, where the sync has succeeded and counts."""
    comparison: Comparison | None = None
