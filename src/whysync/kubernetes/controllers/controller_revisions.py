"""ControllerRevisions: the history of pod templates of StatefulSets and DaemonSets.

Mirrors `pkg/controller/history`, Kubernetes 1.36.
"""

from __future__ import annotations

import json
from typing import Final

from whysync.json_tree import Object, dig, fields, integer, same, text
from whysync.kubernetes.controllers.client import (
    REVISIONS,
    Client,
    StatusError,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.template_hash import fnv_1_32, safe_encode_string

REVISION_HASH: Final = "controller-revision-hash"
_MAX_NAME_LENGTH: Final = 223
_GO_JSON_ESCAPES: Final = {
    "&": "\\u0026",
    "<": "\\u003c",
    ">": "\\u003e",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def revision_data(obj: Object) -> Object:
    """The `data` of a revision: a patch that replaces the template of the owner."""
    template = fields(dig(obj, "spec", "template"))
    replaced: Object = {**template, "$patch": "replace"}
    return {"spec": {"template": replaced}}


def data_hash(data: Object, collision_count: int) -> str:
    encoded = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _GO_JSON_ESCAPES.items():
        encoded = encoded.replace(character, escape)
    return safe_encode_string(str(fnv_1_32(f"{encoded}{collision_count}".encode("utf-8", "surrogatepass"))))


def template_of_revision(revision: Object) -> Object:
    template = fields(dig(revision, "data", "spec", "template"))
    return {key: value for key, value in template.items() if key != "$patch"}


class RevisionHistory:
    def __init__(self, client: Client, owner: Object) -> None:
        self._client = client
        self._owner = owner

    def all(self) -> list[Object]:
        """All revisions, the oldest first."""
        revisions = self._client.owned(REVISIONS, self._owner)
        return sorted(revisions, key=_rank)

    def get_or_create(self, hash: str, revisions: list[Object]) -> Object | None:
        """The revision of the current template, created if needed; `None` if its name is in use."""
        data = revision_data(self._owner)
        equal = [revision for revision in revisions if same(revision.get("data"), data)]
        next_revision = integer(revisions[-1].get("revision")) + 1 if revisions else 1
        if equal and equal[-1] is revisions[-1]:
            return revisions[-1]
        if equal:
            return self._client.update({**equal[-1], "revision": next_revision})
        return self._create(hash, data, next_revision)

    def _create(self, hash: str, data: Object, revision: int) -> Object | None:
        owner = self._owner
        labels: Object = {**fields(dig(owner, "spec", "template", "metadata", "labels")), REVISION_HASH: hash}
        meta: Object = {
            "name": f"{name_of(owner)[:_MAX_NAME_LENGTH]}-{hash}",
            "namespace": namespace_of(owner),
            "labels": labels,
            "ownerReferences": [owner_reference(owner)],
        }
        if annotations_of(owner):
            meta["annotations"] = annotations_of(owner)
        new: Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": meta,
            "data": data,
            "revision": revision,
        }
        try:
            return self._client.create(new)
        except StatusError as error:
            if error.code != 409:
                raise
        existing = self._client.get(REVISIONS, namespace_of(owner), text(meta["name"]))
        is_own = existing is not None and controller_of(existing).get("uid") == uid_of(owner)
        return existing if existing is not None and is_own and same(existing.get("data"), data) else None

    def truncate_history(self, revisions: list[Object], used: set[str], limit: int) -> None:
        """Deletes unused revisions, except the last `limit`. Mirrors `truncateHistory`."""
        unused = [revision for revision in revisions if name_of(revision) not in used]
        for revision in unused[: max(len(unused) - limit, 0)] if limit >= 0 else ():
            self._client.delete(revision)


def _rank(revision: Object) -> tuple[int, str, str]:
    created = text(dig(revision, "metadata", "creationTimestamp"))
    return integer(revision.get("revision")), created, name_of(revision)


def revision_hash_of(obj: Object) -> str:
    return text(labels_of(obj).get(REVISION_HASH))
