"""Fields of live objects that managedFields attributes to others than Argo CD."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.raw_difference import differences
from whysync.json_tree import Json, Missing
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import ManagedFieldsIndex, Writer, WriterKind
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER

_REVISION = "/metadata/annotations/deployment.kubernetes.io~1revision"
_CONTAINERS = ("/metadata/annotations", "/metadata/labels", "/spec", "/data", "/metadata", "")
"""Never ignored as a whole: one rule would hide everything."""
_MAX_FIELDS = 200
"""Per object: with more fields of other writers, no rules are proposed."""


def fields_of_others(case: Case, live: Manifest, desired: Manifest | None) -> Iterator[tuple[str, Writer]]:
    """Fields that differ from Git; without manifests, fields that Argo CD does not own."""
    managed_fields = ManagedFieldsIndex(live.body)
    if all(_is_irrelevant(writer) for writer in managed_fields.managers):
        return
    rules = case.own_ignore_rules
    not_ignored = rules.normalize(live.body) if rules is not None else live.body
    candidates = (
        _differing(desired, live) if desired is not None else _not_owned_by_argocd(managed_fields, live)
    )
    count = 0
    for pointer in candidates:
        writer = next(iter(managed_fields.writers(pointer)), None)
        ignored = isinstance(pointers.resolve(not_ignored, pointer), Missing)
        if writer is None or _is_irrelevant(writer) or ignored or _is_bookkeeping(pointer):
            continue
        count += 1
        if count > _MAX_FIELDS:
            return
        yield pointer, writer


def _is_irrelevant(writer: Writer) -> bool:
    """Is it Argo CD itself, or a writer of status only?"""
    return writer.kind in (WriterKind.ARGOCD, WriterKind.API_SERVER) or writer.subresource == "status"


def _differing(desired: Manifest, live: Manifest) -> Iterator[str]:
    for difference in differences(desired.body, live.body):
        if isinstance(difference.live_value, Missing):
            continue
        if difference.pointer in _CONTAINERS:  # only the cluster has the whole map: check each of its fields
            yield from (pointers.child(difference.pointer, name) for name in _names(difference.live_value))
        else:
            yield difference.pointer


def _names(value: Json | Missing) -> list[str]:
    return sorted(value) if isinstance(value, dict) else []


def _not_owned_by_argocd(managed_fields: ManagedFieldsIndex, live: Manifest) -> Iterator[str]:
    """The topmost nodes that others own and Argo CD does not, if it owns anything at all."""
    if not any(writer.kind is WriterKind.ARGOCD for writer in managed_fields.managers):
        return
    pending = [""]
    while pending:
        at = pending.pop()
        if at not in _CONTAINERS and _is_bookkeeping(at):
            continue
        value = live.at(at)
        owners = managed_fields.writers(at) if at else ()
        shared = at in _CONTAINERS or any(writer.kind is WriterKind.ARGOCD for writer in owners)
        if not shared and owners:
            yield at
        elif isinstance(value, dict):
            pending += [pointers.child(at, name) for name in sorted(value, reverse=True)]
        elif isinstance(value, list):
            pending += [pointers.child(at, number) for number in reversed(range(len(value)))]


def _is_bookkeeping(pointer: str) -> bool:
    top = pointers.split(pointer)[:2]
    if top[:1] == ("status",) or pointer in (LAST_APPLIED_POINTER, _REVISION):
        return True
    return top[:1] == ("metadata",) and top[1:] not in (("annotations",), ("labels",))
