"""Auto-sync has given this commit up.

## What happens
Auto-sync tries a commit, retries as often as it is told, and then leaves it alone: the same commit
is not tried again, whatever happens in the cluster. Without self-heal, a commit that was synced
once is not synced again either, even when somebody deletes or changes what it made.

## How whysync knows
`Failed last sync attempt to …`, or the controller's log: `failed previous sync attempt … will not
retry`, `most recent sync already to …`.

## Fix
Mend what made it fail. If the remedy is a new commit, auto-sync takes it up; if it was outside Git
(a database, a permission), sync once by hand.

## When it is something else
Auto-sync does nothing because a window is closed (sync-window), or because only pruning is left
(pending-prune).
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, ReportedFailure, Set, Severity, cite, rule
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import AutosyncSkipped
from whysync.messages.wrappers import LayerKind
from whysync.queries.already_fixed import fixed_since_autosync_gave_up
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped

HEAL = "/spec/syncPolicy/automated/selfHeal"


@rule(cause="autosync-given-up", since="0.1")
def autosync_gave_up(case: Case) -> Iterator[Finding]:
    operation = case.operation
    if operation is None and not case.app.status.resources:
        yield from _logged(case)  # the log is all that is known about the app
        return
    if operation is None or not case.is_automated:
        return
    if operation.phase in FAILED_PHASES:
        given_up = tuple(_failed(case))
        yield from given_up or _logged(case)
    elif operation.phase == "Succeeded":
        yield from _succeeded(case)


def _failed(case: Case) -> Iterator[Finding]:
    """A companion of what made it fail: it says why nothing happens after that is mended."""
    for index, condition in enumerate(case.app.status.conditions):
        message = understand(condition.message)
        if condition.type != "SyncError" or message.layer(LayerKind.SYNC_ATTEMPT) is None:
            continue
        symptom = SymptomId.condition(condition.type, index)
        failed = (OPERATION, *(s.id for s in case.symptoms if s.kind is SymptomKind.RESULT))
        fixed = fixed_since_autosync_gave_up(case)
        yield Finding(
            about=case.application.ref,
            field="/status/operationState",
            explains=(symptom, *failed) if fixed else (symptom,),
            because=() if fixed else (*failed, symptom),
            severity=Severity.WARNING if fixed else Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=_given_up(fixed),
            evidence=(
                cite(case.application, f"/status/conditions/{index}/message", says="auto-sync gave it up"),
                cite(case.application, "/spec/syncPolicy/automated", says="auto-sync is on"),
                *(
                    cite(manifest, "/metadata/name", says="what was in the way is mended")
                    for manifest in fixed
                ),
            ),
            fixes=(
                Fix.run(
                    sync(case),
                    title="Sync once by hand"
                    if fixed
                    else "When the cause is mended outside Git: sync once by hand",
                ),
            ),
        )


def _logged(case: Case) -> Iterator[Finding]:
    """Only the controller's log says so: the condition is gone, or the status is not known."""
    reports = [report for report in case.failures(AutosyncSkipped) if report.failure.already_tried]
    if not reports:
        return
    failed = (OPERATION,) if OPERATION in case.symptom_ids else ()
    commit = reports[0].failure.revision[:8] or "this commit"
    yield Finding(
        about=case.application.ref,
        field="/status/operationState",
        explains=tuple(dict.fromkeys(id for report in reports for id in report.symptoms)),
        because=failed,
        severity=Severity.INFO if failed else Severity.WARNING,
        confidence=Confidence.HIGH,
        verdict=f"auto-sync will not try {commit} again, because a sync to it was already attempted:"
        " a new commit or a manual sync is needed",
        evidence=(reports[0].cite(says="the controller skips auto-sync"),),
        fixes=(Fix.run(sync(case), title="Fix what made the sync fail, then sync once manually"),),
    )


def _given_up(fixed: tuple[Manifest, ...]) -> str:
    if not fixed:
        return "auto-sync will not try this commit again: a new commit, or a sync by hand, is needed"
    names = ", ".join(str(manifest.ref) for manifest in fixed)
    return f"auto-sync gave this commit up and will not try it again, though what failed is mended ({names})"


def _succeeded(case: Case) -> Iterator[Finding]:
    """Synced once to this commit; without self-heal nothing brings back what changed since."""
    if case.self_heals:
        return
    skipped: tuple[ReportedFailure[AutosyncSkipped], ...] = tuple(
        report
        for group in grouped(case, AutosyncSkipped)
        for report in group.reports
        if report.failure.already_tried
    )
    if not skipped:
        return
    drifted = tuple(s.id for s in case.symptoms if s.kind in (SymptomKind.MISSING, SymptomKind.DIFFERS))
    reported = tuple(id for report in skipped for id in report.symptoms if id in case.symptom_ids)
    yield Finding(
        about=case.application.ref,
        field=HEAL,
        explains=tuple(dict.fromkeys((*reported, *drifted))),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        verdict="auto-sync leaves it alone: this commit was synced already, and self-heal is off",
        evidence=(
            skipped[0].cite(says="the controller says why it does nothing"),
            cite(case.application, HEAL, says="self-heal is not on"),
        ),
        fixes=(
            Fix.run(sync(case), title="Sync once by hand"),
            Fix.application(
                case.application.ref,
                Set(pointer=HEAL, value=True),
                title="Let Argo CD mend drift by itself",
                risk="every change made by hand is undone within seconds, also one made in an emergency",
            ),
        ),
    )
