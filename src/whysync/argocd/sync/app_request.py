"""The request of a sync of an Application.

Mirrors the options that `SyncAppState` hands to gitops-engine, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from whysync.argocd.api.application import SelectedResource
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.compare.deletion_confirmation import is_confirmed
from whysync.argocd.compare.managed_namespace import managed_namespace
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.projects import Cluster, ProjectClustersUnknown, sync_problem
from whysync.argocd.settings import Settings
from whysync.argocd.sync.cluster_ops import ApiResource, ClusterOps
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key, Ref, ref_of

# Inputs and result of one pass of the controller over a sync operation.


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


APPROVED: Final = "argocd.argoproj.io/deletion-approved"


def request_for(
    sync: AppSync,
    comparison: Comparison,
    pairs: tuple[Pair, ...],
    *,
    cluster: Cluster,
    operation: Object,
    revision: str,
    started_at: datetime,
) -> Request:
    """`operation` is the raw `operation.sync`; `pairs` are the comparison's, as they are to be applied."""
    app = comparison.inputs.app
    options = SyncOptions.of(operation, sync.application)
    metadata = app.spec.sync_policy.managed_namespace_metadata
    approved = text(dig(sync.application, "metadata", "annotations", APPROVED))

    def namespace(bare: Object, live: Object | None) -> Object | None:
        return managed_namespace(bare, live, metadata)

    return Request(
        namespace=app.spec.destination.namespace,
        revision=revision,
        pairs=pairs,
        hooks=comparison.hooks,
        options=options,
        started_at=started_at,
        prune_confirmed=is_confirmed(approved, started_at),
        modified={row.key: row.diff.modified for row in comparison.resources if row.diff is not None},
        permission_problem=_permission(sync, cluster),
        includes=_selection(comparison, operation),
        make_namespace=namespace if options.create_namespace else None,
    )


def _selection(comparison: Comparison, operation: Object) -> Callable[[Pair], bool] | None:
    """The filter of a selective sync; objects with a copied tracking id are always excluded."""
    foreign = {row.key for row in comparison.resources if not row.is_own}
    chosen = items(operation.get("resources"))
    if not foreign and not chosen:
        return None
    decoded = (decode(fields(resource), SelectedResource)[0] for resource in chosen)
    selected = [resource for resource in decoded if resource is not None]

    def includes(pair: Pair) -> bool:
        ref = ref_of(pair.obj)
        return ref.key not in foreign and (not chosen or contains_sync_resource(selected, ref))

    return includes


def _permission(sync: AppSync, cluster: Cluster) -> Callable[[Object, ApiResource], str | None]:
    cache: dict[Key, str | None] = {}

    def problem(obj: Object, kind: ApiResource) -> str | None:
        """Cached by kind and namespace; names matter only for cluster-scoped kinds."""
        ref = ref_of(obj)
        key = ref.key._replace(name="") if kind.namespaced else ref.key
        if key not in cache:
            cache[key] = asked(ref, kind)
        return cache[key]

    def asked(ref: Ref, kind: ApiResource) -> str | None:
        try:
            return sync_problem(
                sync.project, ref, cluster, namespaced=kind.namespaced, clusters=sync.project_clusters
            )
        except ProjectClustersUnknown as unknown:
            return str(unknown)

    return problem


def contains_sync_resource(selected: Sequence[SelectedResource], ref: Ref) -> bool:
    """Is the object selected by a selective sync? Names must match exactly.

    Mirrors `ContainsSyncResource`, Argo CD 3.6.
    """
    return any(
        (resource.name, resource.kind, resource.group) == (ref.name, ref.kind, ref.group)
        and resource.namespace in ("", ref.namespace)
        for resource in selected
    )
