"""Somebody changed a field that Git declares, with kubectl or a console.

## What happens
A person (or a script) edited, scaled, patched or applied an object beside Git. Argo CD shows the field
as different. A sync writes Git's value over it: right for an accident, harmful in the middle of an
incident in which somebody scaled up on purpose.

## How whysync knows
`managedFields` name the manager that wrote the live value (`kubectl-edit`, `kubectl-scale`, a console),
with its time. Which person it was, they do not tell: the audit log does.

## Fix
Decide the direction. Git is right: sync. The cluster is right: commit its value, then sync.

## When it is something else
A controller that writes the field again after each sync owns it. Another deployment tool under its own
name is a second deployer.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.contracts.tree import MISSING, Missing
from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, Remove, Set, rule
from whysync.diagnosis.commands import sync
from whysync.semantics.writers import Writer, phrase


@rule(cause="manual-edit", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def changed_by_hand(case: Case) -> Iterator[Finding]:
    for mechanism in (Mechanism.BY_HAND, Mechanism.BY_OTHER_TOOL):
        for drift in case.drifts_by(mechanism):
            writer = drift.writer
            yield Finding(
                about=drift.ref,
                field=drift.pointer,
                writer=writer,
                explains=(drift.symptom,),
                confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
                verdict=f"{drift.ref} was changed beside Git: {_words(drift)}, {_by(writer)}",
                evidence=drift.cited(),
                fixes=(_commit_it(drift), _undo_it(case, drift)),
            )


def _words(drift: Drift) -> str:
    field = drift.last_key
    if drift.only_git:
        return f"{field} was removed"
    if drift.only_live:
        return f"{field} was added"
    return f"{field} is not what Git says"


def _by(writer: Writer | None) -> str:
    return f"with {phrase(writer)}" if writer else "as its annotation shows"


def _commit_it(drift: Drift) -> Fix:
    found = drift.live.at(drift.pointer) if not isinstance(drift.found, Missing) else MISSING
    edit = (
        Remove(pointer=drift.pointer)
        if isinstance(found, Missing)
        else Set(pointer=drift.pointer, value=found)
    )
    return Fix.change(drift.ref, edit, title="The cluster is right: commit its value to Git, then sync")


def _undo_it(case: Case, drift: Drift) -> Fix:
    ref = drift.ref
    return Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Git is right: sync this resource",
        risk="undoes the change: ask first whether somebody is in the middle of an incident",
        destroys=(f"the value that was set by hand at {drift.pointer}",),
    )
