"""The destination Namespace that Argo CD creates (`CreateNamespace=true`), and its managed metadata.

Mirrors `syncNamespace`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.api.application import Application, NamespaceMetadata
from whysync.argocd.hooks import SYNC_OPTIONS
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import ref_of


def managed_namespace(
    namespace: Object | None, live: Object | None, metadata: NamespaceMetadata | None
) -> Object | None:
    """The Namespace to apply, if any; `metadata` is `managedNamespaceMetadata`.

    It is applied server-side, so that other labels stay.
    """
    if namespace is None or (metadata is None and live is not None):
        return None
    if metadata is None:
        return namespace
    annotations = {**metadata.annotations, SYNC_OPTIONS: "ServerSideApply=true"}
    namespace_metadata = fields(namespace.get("metadata"))
    return {
        **namespace,
        "metadata": {**namespace_metadata, "labels": {**metadata.labels}, "annotations": {**annotations}},
    }


def is_managed_namespace(obj: Object, app: Application) -> bool:
    """Mirrors `isManagedNamespace`, Argo CD 3.6."""
    if app.spec.sync_policy.managed_namespace_metadata is None:
        return False
    ref = ref_of(obj)
    return ref.kind == "Namespace" and ref.name == app.spec.destination.namespace


def managed_namespaces(app: Application, targets: Iterable[Object], live: Iterable[Object]) -> list[Object]:
    """The target of a live managed Namespace that is not in Git, so that it does not require pruning."""
    metadata = app.spec.sync_policy.managed_namespace_metadata
    if metadata is None or any(is_managed_namespace(target, app) for target in targets):
        return []
    namespace = next((body for body in live if is_managed_namespace(body, app)), None)
    if namespace is None:
        return []
    bare: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ref_of(namespace).name}}
    desired = managed_namespace(bare, namespace, metadata)
    return [] if desired is None else [desired]


def has_changed_managed_namespace_metadata(app: Application) -> bool:
    """Mirrors `HasChangedManagedNamespaceMetadata`, Argo CD 3.6: OutOfSync though every row is Synced."""
    metadata, state = app.spec.sync_policy.managed_namespace_metadata, app.status.operation_state
    if metadata is None or state is None or state.sync_result is None:
        return False
    return metadata != state.sync_result.managed_namespace_metadata
