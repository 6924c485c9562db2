"""Another program or a person writes fields of an object that Git declares.

## Why
If Git and another program both write a field, each sync and the other program overwrite each other's value.
A field that Git does not declare can appear in a server-side diff or in a list. whysync reads the writers
from managedFields.

## Fix
For a controller, use the narrowest ignore rule or remove the field from Git. Do not ignore a change by a
person or another tool: commit it, or let a sync undo it.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.raw_difference import differences
from whysync.diagnosis.evidence import cite
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Topic, rule
from whysync.json_tree import Json, Missing
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import ManagedFieldsIndex, Writer, WriterKind, phrase
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.queries.ignore_rules import ignore_field

_REPLICAS = "/spec/replicas"
_BY_HAND = (
    WriterKind.KUBECTL_EDIT,
    WriterKind.KUBECTL_PATCH,
    WriterKind.KUBECTL_SCALE,
    WriterKind.KUBECTL_OTHER,
    WriterKind.CONSOLE,
)
_TOOLS = (WriterKind.KUBECTL_APPLY, WriterKind.HELM, WriterKind.TERRAFORM, WriterKind.OTHER_GITOPS)
_REVISION = "/metadata/annotations/deployment.kubernetes.io~1revision"
_CONTAINERS = ("/metadata/annotations", "/metadata/labels", "/spec", "/data", "/metadata", "")
"""Never ignored as a whole: one rule would hide everything."""
_MAX_FIELDS = 200
"""Per object: with more fields of other writers, no rules are proposed."""

_Group = tuple[str, bool]


@rule(topic=Topic.WRITERS, severity=Severity.WARNING, cause="controller-owned", since="0.2")
def fields_written_by_others(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = None if row.hook else case.live_of(row.key)
        if live is None:
            continue
        groups: dict[_Group, tuple[Writer, list[str]]] = {}
        for pointer, writer in _fields_of_others(case, live, case.desired_of(row.key)):
            declared = _is_declared(case.desired_of(row.key), pointer)
            groups.setdefault((writer.manager, declared), (writer, []))[1].append(pointer)
        for (_, declared), (writer, found) in sorted(groups.items()):
            yield _finding(case, live, row.ref, writer, tuple(found), declared=declared)


def _fields_of_others(case: Case, live: Manifest, desired: Manifest | None) -> Iterator[tuple[str, Writer]]:
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


def _is_declared(desired: Manifest | None, pointer: str) -> bool:
    return desired is not None and not isinstance(desired.at(pointer), Missing)


def _finding(
    case: Case, live: Manifest, ref: Ref, writer: Writer, found: tuple[str, ...], *, declared: bool
) -> Finding:
    shown = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    also = ", but Git declares another value" if declared else ""
    fix = _fix(case, ref, writer, found)
    return Finding(
        about=ref,
        verdict=f"{phrase(writer)} writes {shown}{also}{_advice(writer)}",
        confidence=Confidence.HIGH,
        severity=_severity(writer, declared=declared),
        evidence=tuple(cite(live, pointer, says=f"written by {writer.manager}") for pointer in found),
        writer=writer,
        fixes=(fix,) if fix else (),
    )


def _severity(writer: Writer, *, declared: bool) -> Severity:
    people = writer.kind in _BY_HAND or writer.kind in _TOOLS
    return Severity.WARNING if declared or people else Severity.INFO


def _advice(writer: Writer) -> str:
    if writer.kind in _BY_HAND:
        return ": commit it, or let a sync undo it"
    return ": only one of the two tools should manage this object" if writer.kind in _TOOLS else ""


def _fix(case: Case, ref: Ref, writer: Writer, found: tuple[str, ...]) -> Fix | None:
    """The ignore rule; none for changes by people or other tools, because it would hide a problem."""
    if writer.kind in _BY_HAND or writer.kind in _TOOLS:
        return None
    desired = case.desired_of(ref.key)
    if found == (_REPLICAS,) and case.autoscaler_of(ref) is not None and _is_declared(desired, _REPLICAS):
        return Fix.remove(
            ref,
            _REPLICAS,
            title="Let the autoscaler own it: remove replicas from Git",
            risk="with client-side apply, this sync can set 1 replica for a moment",
        )
    return ignore_field(case, ref, *found)
