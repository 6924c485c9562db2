"""kubectl's client-side apply, which Argo CD uses unless ServerSideApply is set.

Mirrors `kubectl apply`, Kubernetes 1.36: the manifest is stored in an annotation, and the next apply
computes a three-way patch from it, the live object and the new manifest.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.golang.fmt import sorted_json
from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, last_applied, without_last_applied
from whysync.kubernetes.merge.merge_patch import three_way_merge_patch, without_nulls
from whysync.kubernetes.merge.strategic import three_way_patch
from whysync.kubernetes.schema import Type, type_of

MANAGER: Final = "kubectl-client-side-apply"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` is `created`, `configured` or `unchanged`; empty if the server refused the request."""

    outcome: str
    answer: Answer
    sent: Json = None


def client_side_apply(
    cluster: Cluster,
    manifest: Object,
    *,
    collection: str,
    manager: str = MANAGER,
) -> Applied:
    """Apply a manifest; `collection` is the URL path of its kind in its namespace."""
    modified = with_annotation(manifest)
    path = f"{collection}/{text(fields(manifest.get('metadata')).get('name'))}"
    live = cluster.send(Request(verb="get", path=path))
    if live.code == 404:
        created = without_nulls(modified)
        answer = cluster.send(
            Request(verb="create", path=collection, body=created, manager=manager, validation="Strict")
        )
        return Applied(outcome="created" if answer.ok else "", answer=answer, sent=created)
    if not live.ok or live.body is None:
        return Applied(outcome="", answer=live)
    patch = patch_for(modified, live.body)
    if not patch:
        return Applied(outcome="unchanged", answer=live)
    verb = patch_verb(manifest)
    answer = cluster.send(Request(verb=verb, path=path, body=patch, manager=manager, validation="Strict"))
    return Applied(outcome="configured" if answer.ok else "", answer=answer, sent=patch)


def patch_for(modified: Object, live: Object) -> Object:
    """The patch that kubectl sends; empty if nothing changes."""
    original = last_applied(live) or {}
    schema = _schema(modified)
    if schema is None:
        return three_way_merge_patch(original, modified, live)
    return three_way_patch(original, modified, live, schema)


def patch_verb(manifest: Object) -> str:
    """The patch type of a kind: built-in kinds use strategic merge patches."""
    return "merge-patch" if _schema(manifest) is None else "strategic-patch"


def _schema(obj: Object) -> Type | None:
    return type_of(text(obj.get("apiVersion")), text(obj.get("kind")))


def with_annotation(manifest: Object) -> Object:
    """The manifest with itself, as compact JSON, in the last-applied annotation."""
    bare = without_last_applied(manifest)
    meta = fields(bare.get("metadata"))
    annotations = fields(meta.get("annotations"))
    last_applied = sorted_json({**bare, "metadata": {**meta, "annotations": annotations}}) + "\n"
    return {**bare, "metadata": {**meta, "annotations": {**annotations, LAST_APPLIED: last_applied}}}
