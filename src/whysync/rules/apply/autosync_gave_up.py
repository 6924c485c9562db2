"""Auto-sync does not try this commit again.

## What happens
Auto-sync tries a commit, retries up to its retry limit, and then stops: the same commit is not tried again,
whatever happens in the cluster. Without self-heal, a commit that was synced once is not synced again either,
even if somebody deletes or changes what it created.

## How whysync knows
`Failed last sync attempt to …`, or the controller's log: `failed previous sync attempt … will not
retry`, `most recent sync already to …`. Or auto-sync is on, the last sync failed, and the compared commit is
the one that it tried.

## Fix
Fix what made the sync fail. If the fix is a new commit, auto-sync picks it up; if the fix was outside Git
(a database, a permission), sync once manually.

## When it is something else
Auto-sync does nothing because a sync window is closed (sync-window), or because only pruning is left
(pending-prune).
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, ReportedFailure, Set, Severity, cite, rule
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import AutosyncSkipped, AutosyncWipeRefused
from whysync.messages.wrappers import LayerKind
from whysync.queries.already_fixed import fixed_since_autosync_gave_up
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped

HEAL = "/spec/syncPolicy/automated/selfHeal"


@rule(cause="autosync-given-up", since="0.1")
def autosync_gave_up(case: Case) -> Iterator[Finding]:
    operation = case.operation
    if operation is None and not case.app.status.resources:
        yield from tuple(_failed(case)) or _logged(case)  # that is all that is known about the app
        return
    if operation is None or not case.is_automated:
        return
    if operation.phase in FAILED_PHASES:
        given_up = tuple(_failed(case)) or tuple(_logged(case))
        yield from given_up or _already_attempted(case)
    elif operation.phase == "Succeeded":
        yield from _succeeded(case)


def _failed(case: Case) -> Iterator[Finding]:
    """Accompanies the cause of the failure: why nothing happens after that is fixed."""
    for index, condition in enumerate(case.app.status.conditions):
        message = understand(condition.message)
        if condition.type != "SyncError" or message.layer(LayerKind.SYNC_ATTEMPT) is None:
            continue
        if any(isinstance(failure, AutosyncWipeRefused) for failure in message.failures):
            continue  # no sync ran: auto-sync looks at the source again at each reconciliation
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
                cite(
                    case.application, f"/status/conditions/{index}/message", says="auto-sync stopped trying"
                ),
                cite(case.application, "/spec/syncPolicy/automated", says="auto-sync is on"),
                *(
                    citation
                    for manifest in fixed
                    for citation in (
                        (
                            cite(manifest, "/status/hard", says="the limits of the quota now"),
                            cite(manifest, "/status/used", says="what is used of it"),
                        )
                        if manifest.ref.kind == "ResourceQuota"
                        else (cite(manifest, "/metadata/creationTimestamp", says="it exists, created"),)
                    )
                ),
            ),
            fixes=(Fix.run(sync(case), title="Sync once manually"),) if fixed else (),
        )


def _already_attempted(case: Case) -> Iterator[Finding]:
    """Argo CD has not reported it yet, but the commit that failed is the one that it compares.

    Mirrors `alreadyAttemptedSync` and `autoSync`, Argo CD 3.6.
    """
    operation, compared = case.operation, case.app.status.sync
    result = operation.sync_result if operation is not None else None
    if result is None or compared.status != "OutOfSync" or OPERATION not in case.symptom_ids:
        return
    attempted = (result.revision, result.revisions)
    if not any(attempted) or attempted != (compared.revision, compared.revisions):
        return
    pointer = "revision" if result.revision else "revisions"
    yield Finding(
        about=case.application.ref,
        field="/status/operationState",
        because=(OPERATION, *(s.id for s in case.symptoms if s.kind is SymptomKind.RESULT)),
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        verdict=_given_up(()),
        evidence=(
            cite(
                case.application, f"/status/operationState/syncResult/{pointer}", says="the sync that failed"
            ),
            cite(case.application, f"/status/sync/{pointer}", says="the compared commit"),
            cite(case.application, "/spec/syncPolicy/automated", says="auto-sync is on"),
        ),
    )


def _logged(case: Case) -> Iterator[Finding]:
    """Only the controller's log reports it: the condition is gone, or the status is not in the facts."""
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
        return (
            "auto-sync will not try this commit again: push a new commit, or fix the cause and sync manually"
        )
    names = ", ".join(str(manifest.ref) for manifest in fixed)
    return f"auto-sync will not try this commit again, although what made it fail is fixed ({names})"


def _succeeded(case: Case) -> Iterator[Finding]:
    """Synced once to this commit; without self-heal nothing restores what changed since."""
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
        verdict="auto-sync does nothing: this commit was already synced, and self-heal is off",
        evidence=(
            skipped[0].cite(says="the controller skips auto-sync"),
            cite(case.application, HEAL, says="self-heal is off"),
        ),
        fixes=(
            Fix.run(sync(case), title="Sync once manually"),
            Fix.application(
                case.application.ref,
                Set(pointer=HEAL, value=True),
                title="Turn on self-heal, so that Argo CD reverts drift",
                risk="manual changes are reverted within seconds, also in an emergency",
            ),
        ),
    )
