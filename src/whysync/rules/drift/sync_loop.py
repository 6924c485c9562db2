"""Argo CD syncs the same commit in a loop.

## What happens
Each sync succeeds, and moments later the app is OutOfSync again: another program writes the same field.
Self-heal keeps retrying with growing delays. The loop causes load, fills the history, and may restart
workloads each time.

## How whysync knows
The operation has a count of self-heal attempts, or the history has the same commit several times in a row,
each time synced automatically. The current differences name the field and the other writer.

## Fix
Give the field one owner: stop the other program if Git is right, or let it own the field (ignore it with
`RespectIgnoreDifferences=true`, then remove it from Git). Until then, turn self-heal off.

## When it is something else
If someone syncs repeatedly by hand, the history names that user.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, Set, cite, rule
from whysync.diagnosis.freshness import SyncLoop, sync_loop_of
from whysync.diagnosis.symptom import SYNC_LOOP
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.queries.drift import live_values
from whysync.queries.field_removal import removal_risk
from whysync.queries.ignore_rules import ignore_fields
from whysync.queries.other_writers import WRITES_AGAIN, stop_writer
from whysync.queries.timestamps import age_text

SELF_HEAL = "/spec/syncPolicy/automated/selfHeal"
# No other program writes these: the API server sets them during the request or does not store them, or
# every rendering has another value.
_WITHOUT_OTHER_WRITER = (
    Mechanism.SERVER_SET_IN_GIT,
    Mechanism.SAME_VALUE,
    Mechanism.API_DEFAULT,
    Mechanism.CRD_DEFAULT,
    Mechanism.DROPPED,
    Mechanism.CONVERTED,
    Mechanism.OMITTED_IN_CRD,
    Mechanism.KEPT,
    Mechanism.GENERATED,
)


@rule(cause="sync-noop-loop", since="0.1")
def sync_loop(case: Case) -> Iterator[Finding]:
    loop = sync_loop_of(case)
    if loop is None:
        return
    without_other_writer = {
        id(drift) for mechanism in _WITHOUT_OTHER_WRITER for drift in case.drifts_by(mechanism)
    }
    contested = [
        drift
        for drift in case.drifts
        if id(drift) not in without_other_writer and _may_be_of_another_writer(drift)
    ]
    unexplained = [drift for drift in case.drifts_by(Mechanism.UNKNOWN) if drift in contested]
    yield Finding(
        about=contested[0].ref if contested else case.application.ref,
        field=contested[0].pointer if contested else None,
        writer=contested[0].writer if contested else None,
        explains=(SYNC_LOOP, *(drift.symptom for drift in unexplained)),
        because=tuple(drift.symptom for drift in contested or case.drifts),
        confidence=Confidence.HIGH if contested else Confidence.MEDIUM,
        verdict=f"Argo CD has synced one commit {loop.times} times in a row"
        f"{_period(loop)}{_who(case, contested)}",
        evidence=(
            cite(
                case.application,
                loop.pointer,
                says="the syncs of this commit"
                if loop.pointer == "/status/history"
                else "repeated by self-heal",
            ),
            *(evidence for drift in contested[:3] for evidence in drift.cited()),
        ),
        fixes=tuple(_fixes(case, unexplained)),
    )


def _may_be_of_another_writer(drift: Drift) -> bool:
    return drift.writer is None or drift.writer.kind is not WriterKind.ARGOCD


def _fixes(case: Case, unexplained: list[Drift]) -> Iterator[Fix]:
    """Fixes for the fields that no other rule explains; the other rules have their own."""
    if unexplained:
        yield from _one_owner(
            case, [drift for drift in unexplained if drift.ref.key == unexplained[0].ref.key]
        )
    elif case.self_heals:
        yield Fix.application(
            case.application.ref,
            Set(pointer=SELF_HEAL, value=False),
            title="Turn self-heal off until the field has one owner",
            risk="drift is no longer undone automatically",
        )


def _one_owner(case: Case, drifts: list[Drift]) -> Iterator[Fix]:
    """Fixes for fields of one object. Who writes them is not known: it may be a forgotten program."""
    ref, writer = drifts[0].ref, drifts[0].writer
    pointers = [drift.pointer for drift in drifts]
    ignored = ignore_fields(case, ref, *pointers)
    yield from stop_writer(case, ref, writer, pointers[0])
    yield from ignored
    if not any(drift.only_live or drift.is_required for drift in drifts):
        name = writer.manager if writer is not None and writer.manager else "the other writer"
        yield Fix.remove(
            ref,
            *pointers,
            title="Let the other writer own it: remove the field from Git",
            risk=removal_risk(case, ref, pointers[0], writer=name, ignorable=bool(ignored)),
        )
    if not ignored:
        yield Fix.change(
            ref,
            *live_values(drifts),
            title="The other writer is right: commit the live value to Git",
            risk=WRITES_AGAIN,
        )


def _period(loop: SyncLoop) -> str:
    return f", one every {age_text(loop.period)}" if loop.period and loop.period.total_seconds() >= 60 else ""


def _who(case: Case, contested: list[Drift]) -> str:
    if not contested and case.drifts:
        return ", but the difference remains after each sync"
    if not contested:
        return "; another program undoes each sync"
    drift = contested[0]
    who = phrase(drift.writer) if drift.writer else "another program"
    return f": {who} writes {drift.name} of {drift.ref} after each sync"
