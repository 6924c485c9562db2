"""The destination's Namespace, where Argo CD creates it and keeps its labels and annotations.

Mirrors `syncNamespace`, Argo CD 3.6.
"""

from __future__ import annotations

from whysync.argocd.api.application import NamespaceMetadata
from whysync.argocd.hooks import SYNC_OPTIONS
from whysync.json_tree import Object, fields


def managed_namespace(
    namespace: Object | None, live: Object | None, metadata: NamespaceMetadata | None
) -> Object | None:
    """The Namespace to apply; `None`: leave it alone. `metadata` is the policy's, if it has any.

    It is applied on the server, so that labels of others stay.
    """
    if namespace is None or (metadata is None and live is not None):
        return None
    if metadata is None:
        return namespace
    annotations = {**metadata.annotations, SYNC_OPTIONS: "ServerSideApply=true"}
    own = fields(namespace.get("metadata"))
    return {
        **namespace,
        "metadata": {**own, "labels": {**metadata.labels}, "annotations": {**annotations}},
    }
