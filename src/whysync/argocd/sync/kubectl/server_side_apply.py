"""`kubectl apply --server-side --force-conflicts`, with the migration from client-side apply.

Mirrors kubectl `apply`, Kubernetes 1.36. An object that was applied with client-side apply is migrated after
the first server-side apply and then applied again, which removes the last-applied annotation and fields that
are no longer in the manifest.
"""

from __future__ import annotations

from typing import Final

from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.csa_migration import upgraded_managed_fields
from whysync.argocd.sync.kubectl.client import Client, message_of, reason_of, refused
from whysync.argocd.sync.kubectl.output import (
    being_deleted,
    clean_kubectl_output,
    join_kubectl_output,
    not_applied_again,
    not_migrated,
)
from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1

_ATTEMPTS: Final = 5
_ANNOTATION: Final = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
_NO_FORCE: Final = "error validating options: --force cannot be used with --server-side"
_ADVICE: Final = """
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"""


def apply_server_side(client: Client, target: Target, mode: Mode) -> str:
    if mode.force:
        raise Refused(_NO_FORCE)
    if target.path_problem:
        raise Refused(target.path_problem)
    response = _send(client, target, mode)
    if not response.ok:
        advice = _ADVICE if reason_of(response) == "Conflict" else ""
        raise refused(response, clean_kubectl_output(message_of(response) + advice))
    obj, warnings = _migrated(client, target, mode, response.body or {})
    return join_kubectl_output(target.printed("serverside-applied"), warnings + being_deleted(obj))


def _send(client: Client, target: Target, mode: Mode) -> Answer:
    return client.send("ssa", target.path, target.obj, manager=mode.manager, force=True)


def _migrated(client: Client, target: Target, mode: Mode, obj: Object) -> tuple[Object, str]:
    """The resulting object and kubectl's warnings; a failed migration is only a warning."""
    managers = _client_side_managers(obj)
    if not managers:
        return obj, ""
    try:
        migrated = _migrate(client, target, mode, obj, managers)
    except Refused as problem:
        return obj, not_migrated(problem.message)
    if migrated is None:
        return obj, ""
    again = _send(client, target, mode)
    if not again.ok:
        return migrated, not_applied_again(message_of(again))
    return again.body or {}, ""


def _client_side_managers(obj: Object) -> list[str]:
    """The managers that wrote the last-applied annotation with an update."""
    managers: set[str] = set()
    for raw in items(dig(obj, "metadata", "managedFields")):
        row = fields(raw)
        if row.get("operation") == "Update" and _owns_annotation(row):
            managers.add(text(row.get("manager")))
    return sorted(managers)


def _owns_annotation(row: Object) -> bool:
    if not isinstance(dig(row, "fieldsV1", *_ANNOTATION), dict):
        return False
    try:
        return from_fields_v1(row.get("fieldsV1")).has(_ANNOTATION)
    except ValueError:
        return False


def _migrate(client: Client, target: Target, mode: Mode, obj: Object, managers: list[str]) -> Object | None:
    """The migrated object; `None` if nothing had to change. Raises `Refused`."""
    for attempt in range(_ATTEMPTS):
        rows = [fields(row) for row in items(dig(obj, "metadata", "managedFields"))]
        after = rows
        for manager in managers:
            try:
                after = upgraded_managed_fields(after, from_manager=manager, to_manager=mode.manager)
            except ValueError as problem:
                raise Refused(f"failed to convert fields to set: {problem}") from problem
        if after == rows:
            return None
        version = text(dig(obj, "metadata", "resourceVersion"))
        patch: list[Json] = [
            {"op": "replace", "path": "/metadata/managedFields", "value": list(after)},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        response = client.send("json-patch", target.path, patch, manager=mode.manager)
        if response.ok:
            return response.body or {}
        if reason_of(response) != "Conflict" or attempt == _ATTEMPTS - 1:
            raise refused(response)
        current = client.send("get", target.path)
        if not current.ok:
            raise refused(current)
        obj = current.body or {}
    return None
