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

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
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
            verdict=f"{first.ref} was changed beside Git: {_words(drifts)}, {_by(writer)}",
            fixes=(_commit_it(drifts), _undo_it(case, drifts)),
        )


def _edits(case: Case) -> Iterator[list[Drift]]:
    """One edit of an object may change many of its fields: they belong together."""
    by_hand = (Mechanism.BY_HAND, Mechanism.BY_OTHER_TOOL)
    result: dict[tuple[Key, str], list[Drift]] = {}
    for drift in (drift for mechanism in by_hand for drift in case.drifts_by(mechanism)):
        manager = drift.writer.manager if drift.writer else ""
        result.setdefault((drift.key, manager), []).append(drift)
    yield from result.values()


def _words(drifts: list[Drift]) -> str:
    said: dict[str, list[str]] = {}
    for drift in drifts:
        what = "was removed" if drift.only_git else "was added" if drift.only_live else "is not what Git says"
        said.setdefault(what, []).append(drift.last_key)
    return "; ".join(
        f"{', '.join(dict.fromkeys(fields))} {_plural(what, fields)}" for what, fields in said.items()
    )


def _plural(what: str, fields: list[str]) -> str:
    if len(set(fields)) == 1:
        return what
    return what.replace("was ", "were ").replace("is ", "are ", 1)


def _by(writer: Writer | None) -> str:
    return f"with {phrase(writer)}" if writer else "as its annotation shows"


def _commit_it(drifts: list[Drift]) -> Fix:
    title = "The cluster is right: commit its value to Git, then sync"
    return Fix.change(drifts[0].ref, *live_values(drifts), title=title)


def _undo_it(case: Case, drifts: list[Drift]) -> Fix:
    ref = drifts[0].ref
    return Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Git is right: sync this resource",
        risk="undoes the change: ask first whether somebody is in the middle of an incident",
        destroys=tuple(f"the value that was set by hand at {drift.pointer}" for drift in drifts),
    )
