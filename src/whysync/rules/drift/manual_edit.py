"""A field was changed outside Git, with kubectl, a console or another deployment tool.

## What happens
A person or a script edited, scaled, patched or applied the object outside Git. Argo CD reports the field as
different. A sync restores Git's value, which is right after a mistake, but harmful during an incident in
which someone scaled up on purpose.

## How whysync knows
`managedFields` name the manager that wrote the live value (`kubectl-edit`, `kubectl-scale`, a console) and
the time. They do not name the person; the audit log does.

## Fix
If Git is right, sync. If the live value is right, commit it, then sync.

## When it is something else
If a controller writes the field again after each sync, the controller owns it.
"""

from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.api.pointer import index_of
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.field_writers import Writer, phrase
from whysync.queries.commands import sync
from whysync.queries.drift import drift_finding, live_values


@rule(cause="manual-edit", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def manual_edit(case: Case) -> Iterator[Finding]:
    for drifts in _edits(case):
        first = drifts[0]
        writer = first.writer
        yield drift_finding(
            *drifts,
            writer=writer,
            confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
            verdict=f"{first.ref} was changed outside Git: {_changes(drifts)}, {_by(writer)}",
            fixes=(_commit(drifts), _undo(case, drifts)),
        )


def _edits(case: Case) -> Iterator[list[Drift]]:
    """The changed fields by object and manager: one edit may change several fields."""
    by_hand = (Mechanism.BY_HAND, Mechanism.BY_OTHER_TOOL)
    edits: dict[tuple[Key, str], list[Drift]] = {}
    for drift in (drift for mechanism in by_hand for drift in case.drifts_by(mechanism)):
        manager = drift.writer.manager if drift.writer else ""
        edits.setdefault((drift.key, manager), []).append(drift)
    yield from edits.values()


class _Change(NamedTuple):
    singular: str
    plural: str


_REMOVED = _Change("was removed", "were removed")
_ADDED = _Change("was added", "were added")
_CHANGED = _Change("differs from Git", "differ from Git")


def _changes(drifts: list[Drift]) -> str:
    """`replicas, image differ from Git; paused was added`."""
    names_by_change: dict[_Change, dict[str, None]] = {}
    for drift in drifts:
        change = _REMOVED if drift.only_git else _ADDED if drift.only_live else _CHANGED
        is_element = index_of(drift.pointer.rpartition("/")[2]) is not None
        name = f"an element of {drift.last_key}" if is_element else drift.name
        names_by_change.setdefault(change, {})[name] = None
    return "; ".join(
        f"{', '.join(names)} {change.singular if len(names) == 1 else change.plural}"
        for change, names in names_by_change.items()
    )


def _by(writer: Writer | None) -> str:
    return f"with {phrase(writer)}" if writer else "as its annotation shows"


def _commit(drifts: list[Drift]) -> Fix:
    title = "The live value is right: commit it to Git, then sync"
    return Fix.change(drifts[0].ref, *live_values(drifts), title=title)


def _undo(case: Case, drifts: list[Drift]) -> Fix:
    ref = drifts[0].ref
    return Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Git is right: sync this resource",
        risk="undoes the change, which may be part of incident response: ask first",
        destroys=tuple(f"the value set by hand at {drift.pointer}" for drift in drifts if not drift.only_git),
    )
