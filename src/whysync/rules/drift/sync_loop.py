"""Argo CD syncs the same commit again and again, and it never holds.

## What happens
Each sync succeeds, and moments later the app is OutOfSync again: something else writes what Argo CD writes.
Self-heal tries with ever longer pauses, for ever. It costs load, fills the history, and workloads may be
restarted each time.

## How whysync knows
Self-heal counts its attempts in the operation, or the history holds one commit several times in a row,
each started automatically. The differences that are there now name the field and the other writer.

## Fix
End the fight at its field: let the other writer own it (drop it from Git, or ignore it with
`RespectIgnoreDifferences=true`). Until then, switch self-heal off. Where Git is right, the other program
has to stop.

## When it is something else
Somebody who syncs by hand, again and again, shows in the history as that user.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, Set, cite, rule
from whysync.diagnosis.freshness import SyncLoop, sync_loop_of
from whysync.diagnosis.symptom import SYNC_LOOP
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.queries.drift import live_values
from whysync.queries.ignore_rules import ignore_fields
from whysync.queries.timestamps import age_text

SELF_HEAL = "/spec/syncPolicy/automated/selfHeal"
# Nobody writes these back: the API server does so itself while a request passes, or never keeps them.
_NOBODY = (
    Mechanism.SERVER_SET_IN_GIT,
    Mechanism.SAME_VALUE,
    Mechanism.API_DEFAULT,
    Mechanism.CRD_DEFAULT,
    Mechanism.DROPPED,
    Mechanism.CONVERTED,
    Mechanism.KEPT,
)


@rule(cause="sync-noop-loop", since="0.1")
def sync_loop(case: Case) -> Iterator[Finding]:
    loop = sync_loop_of(case)
    if loop is None:
        return
    lasting = {id(drift) for mechanism in _NOBODY for drift in case.drifts_by(mechanism)}
    contested = [drift for drift in case.drifts if id(drift) not in lasting and _is_others(drift)]
    untold = [drift for drift in case.drifts_by(Mechanism.UNKNOWN) if drift in contested]
    yield Finding(
        about=contested[0].ref if contested else case.application.ref,
        field=contested[0].pointer if contested else None,
        writer=contested[0].writer if contested else None,
        explains=(SYNC_LOOP, *(drift.symptom for drift in untold)),
        because=tuple(drift.symptom for drift in contested or case.drifts),
        confidence=Confidence.HIGH if contested else Confidence.MEDIUM,
        verdict=f"Argo CD has synced one commit {loop.times} times in a row"
        f"{_period(loop)}{_who(case, contested)}",
        evidence=(
            cite(case.application, loop.pointer, says="one commit, again and again"),
            *(evidence for drift in contested[:3] for evidence in drift.cited()),
        ),
        fixes=tuple(_fixes(case, untold)),
    )


def _is_others(drift: Drift) -> bool:
    return drift.writer is None or drift.writer.kind is not WriterKind.ARGOCD


def _fixes(case: Case, untold: list[Drift]) -> Iterator[Fix]:
    """What another rule explains has its ways out there; here, those of what nobody else explains."""
    mine = [drift for drift in untold if drift.ref.key == untold[0].ref.key]
    declared = [drift.pointer for drift in mine if not (drift.only_live or drift.is_required)]
    if mine and len(declared) == len(mine):
        yield Fix.remove(mine[0].ref, *declared, title="Let the other writer own it: drop the field from Git")
    ignored = ignore_fields(case, mine[0].ref, *(drift.pointer for drift in mine)) if mine else ()
    yield from ignored
    if mine and not ignored:
        yield Fix.change(
            mine[0].ref, *live_values(mine), title="The other writer is right: commit its value to Git"
        )
    if not mine and case.self_heals:
        yield Fix.application(
            case.application.ref,
            Set(pointer=SELF_HEAL, value=False),
            title="Switch self-heal off until the field has one owner",
            risk="drift is not undone by itself any more",
        )


def _period(loop: SyncLoop) -> str:
    return f", one every {age_text(loop.period)}" if loop.period and loop.period.total_seconds() >= 60 else ""


def _who(case: Case, contested: list[Drift]) -> str:
    if not contested and case.drifts:
        return ", and the difference stays, whatever a sync writes"
    if not contested:
        return ", and something writes it back"
    drift = contested[0]
    who = phrase(drift.writer) if drift.writer else "something else"
    return f": {who} writes {drift.last_key} of {drift.ref} back"
