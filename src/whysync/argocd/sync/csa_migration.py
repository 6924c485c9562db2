"""Migration from client-side to server-side apply: fields that kubectl owns become Argo CD's.

Without it, a field that kubectl once applied and that is no longer in Git would never be removed. Mirrors
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
    """Raises `Refused`; on a conflict the object is read again, up to five times."""
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
    """With the object's resourceVersion, so that a concurrent write is a conflict. Raises `ValueError`."""
    entries = [fields(row) for row in items(dig(obj, "metadata", "managedFields"))]
    return [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": list(upgraded_managed_fields(entries, from_manager=from_manager, to_manager=to_manager)),
        },
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": text(dig(obj, "metadata", "resourceVersion")),
        },
    ]


def upgraded_managed_fields(rows: list[Object], *, from_manager: str, to_manager: str) -> list[Object]:
    """The upgraded `managedFields`. Mirrors `upgradedManagedFields`; raises `ValueError`.

    The entries of the old manager are removed; the fields of the one with the same API version are merged
    into the entry of the new manager.
    """

    def is_old(row: Object) -> bool:
        return _is_entry_of(row, from_manager, "Update")

    index = next(
        (position for position, row in enumerate(rows) if _is_entry_of(row, to_manager, "Apply")), None
    )
    if index is None:
        index = next((position for position, row in enumerate(rows) if is_old(row)), None)
        if index is None:
            return rows
        rows = [*rows]
        rows[index] = {**rows[index], "manager": to_manager, "operation": "Apply"}
    entry = rows[index]
    owned = from_fields_v1(entry.get("fieldsV1"))
    version = text(entry.get("apiVersion"))
    old_entry = next((row for row in rows if is_old(row) and text(row.get("apiVersion")) == version), None)
    if old_entry is not None:
        owned = owned.union(from_fields_v1(old_entry.get("fieldsV1")))
    merged_entry: Object = {**entry, "fieldsV1": to_fields_v1(owned)}
    return [
        merged_entry if position == index else row
        for position, row in enumerate(rows)
        if position == index or not is_old(row)
    ]


def _is_entry_of(row: Object, manager: str, operation: str) -> bool:
    """Does the entry belong to this manager and operation? Entries of subresources never do."""
    actual = text(row.get("manager")), text(row.get("operation")), text(row.get("subresource"))
    return actual == (manager, operation, "")
