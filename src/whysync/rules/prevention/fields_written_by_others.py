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
from whysync.diagnosis.evidence import cite
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Topic, rule
from whysync.diagnosis.sentences import listed
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.field_removal import removal_risk
from whysync.queries.foreign_fields import fields_of_others
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

_Group = tuple[str, bool]


@rule(topic=Topic.WRITERS, severity=Severity.WARNING, cause="controller-owned", since="0.1")
def fields_written_by_others(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = None if row.hook else case.live_of(row.key)
        if live is None:
            continue
        groups: dict[_Group, tuple[Writer, list[str]]] = {}
        for pointer, writer in fields_of_others(case, live, case.desired_of(row.key)):
            declared = _is_declared(case.desired_of(row.key), pointer)
            groups.setdefault((writer.manager, declared), (writer, []))[1].append(pointer)
        for (_, declared), (writer, found) in sorted(groups.items()):
            yield _finding(case, live, row.ref, writer, tuple(found), declared=declared)


def _is_declared(desired: Manifest | None, pointer: str) -> bool:
    return desired is not None and not isinstance(desired.at(pointer), Missing)


def _finding(
    case: Case, live: Manifest, ref: Ref, writer: Writer, found: tuple[str, ...], *, declared: bool
) -> Finding:
    shown = listed(found)
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
            risk=removal_risk(case, ref, _REPLICAS, writer="the autoscaler", ignorable=False),
        )
    return ignore_field(case, ref, *found)
