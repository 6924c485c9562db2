"""From client-side to server-side apply: the fields that kubectl owns become Argo CD's.

Else a field that was once applied by kubectl, and has left Git since, would never be removed. Mirrors
`performCSAUpgradeMigration`, Argo CD 3.6, and client-go `csaupgrade`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.argocd.sync.cluster_ops import ClusterOps, Reason, Refused
from whysync.argocd.sync.options import needs_migration
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1, to_fields_v1

_ATTEMPTS: Final = 5


def migrate(cluster_ops: ClusterOps, live: Object, *, from_manager: str, to_manager: str) -> None:
    """Raises `Refused`; an object that others change meanwhile is read again and again, five times in all."""
    ref = ref_of(live)
    try:
        cluster_ops.discover(ref.api_version, ref.kind, "patch")
    except Refused as problem:
        message = f"failed to get api resource for {ref.group}/{ref.version}, Kind={ref.kind}"
        raise problem.within(message) from problem
    for attempt in range(_ATTEMPTS):
        try:
            fresh = cluster_ops.get(ref)
        except Refused as problem:
            raise problem.within("failed to get fresh object for CSA migration") from problem
        if not needs_migration(fresh, from_manager):
            return
        try:
            patch = migration_patch(fresh, from_manager=from_manager, to_manager=to_manager)
        except (ValueError, RecursionError) as problem:
            message = (
                f"failed to generate csaupgrade migration patch: failed to convert fields to set: {problem}"
            )
            raise Refused(message) from problem
        try:
            cluster_ops.patch(ref, patch)
        except Refused as problem:
            if problem.reason is not Reason.CONFLICT or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def migration_patch(obj: Object, *, from_manager: str, to_manager: str) -> list[Json]:
    """With the object's version, so that it is refused where somebody was faster. Raises `ValueError`."""
    rows = [fields(row) for row in items(dig(obj, "metadata", "managedFields"))]
    return [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": list(upgraded_managed_fields(rows, from_manager=from_manager, to_manager=to_manager)),
        },
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": text(dig(obj, "metadata", "resourceVersion")),
        },
    ]


def upgraded_managed_fields(rows: list[Object], *, from_manager: str, to_manager: str) -> list[Object]:
    """The rows of `managedFields` afterwards. Mirrors `upgradedManagedFields`; raises `ValueError`.

    The rows of the old manager are gone; of those, one of the same API version gives its fields to the new.
    """

    def is_old(row: Object) -> bool:
        return _is(row, from_manager, "Update")

    place = next((at for at, row in enumerate(rows) if _is(row, to_manager, "Apply")), None)
    if place is None:
        place = next((at for at, row in enumerate(rows) if is_old(row)), None)
        if place is None:
            return rows
        rows = [*rows]
        rows[place] = {**rows[place], "manager": to_manager, "operation": "Apply"}
    first = rows[place]
    owned = from_fields_v1(first.get("fieldsV1"))
    version = text(first.get("apiVersion"))
    given = next((row for row in rows if is_old(row) and text(row.get("apiVersion")) == version), None)
    if given is not None:
        owned = owned.union(from_fields_v1(given.get("fieldsV1")))
    heir: Object = {**first, "fieldsV1": to_fields_v1(owned)}
    return [heir if at == place else row for at, row in enumerate(rows) if at == place or not is_old(row)]


def _is(row: Object, manager: str, operation: str) -> bool:
    """Rows of a subresource, such as `status`, stay with whom they are."""
    actual = text(row.get("manager")), text(row.get("operation")), text(row.get("subresource"))
    return actual == (manager, operation, "")
