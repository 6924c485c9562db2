"""A diagnosis as a look for the history."""

from __future__ import annotations

from typing import Final

from whysync.diagnosis.finding import Finding, KeyKind, Severity
from whysync.diagnosis.report import AppReport
from whysync.history.model import AppKey, LastSync, Look, Problem
from whysync.reports.terminal import one_line
from whysync.watch.fleet import AppState

_EVERYWHERE: Final = frozenset(
    {KeyKind.REPOSITORY, KeyKind.HOST, KeyKind.ADDRESS, KeyKind.REGISTRY, KeyKind.IMAGE}
)
"""These are the same thing for every Argo CD instance; a webhook or a quota is one of its cluster."""
_RUNNING: Final = ("Running", "Terminating")


def look_of(state: AppState) -> Look:
    report = state.report
    app = report.case.app
    operation = app.status.operation_state
    running = operation is not None and operation.phase in _RUNNING
    return Look(
        app=state.key,
        at=state.seen_at,
        project=app.project,
        cluster=state.row.cluster,
        labels=state.labels,
        sync=app.status.sync.status,
        health=app.status.health.status,
        revision=app.status.sync.revision or " ".join(app.status.sync.revisions),
        last_sync=_last_sync(report),
        problem=_problem(report, state.key) if state.broken else None,
        in_progress=running or app.status.health.status == "Progressing",
    )


def _problem(report: AppReport, key: AppKey) -> Problem:
    """The first finding that is not only a notice; without one, the first unexplained symptom."""
    finding = next((finding for finding in report.findings if finding.severity.weight > 0), None)
    if finding is None:
        return Problem(
            cause="unexplained",
            severity=Severity.WARNING.value,
            verdict=one_line(report.unexplained[0].text),
        )
    return Problem(
        cause=finding.cause,
        rule=finding.rule,
        severity=finding.severity.value,
        verdict=one_line(finding.verdict),
        root=one_line(finding.root or ""),
        fix=one_line(finding.fixes[0].title) if finding.fixes else "",
        evidence_key=_evidence_key(finding, key),
    )


def _evidence_key(finding: Finding, app: AppKey) -> str:
    key = finding.key
    if key is None:
        return ""
    instance = "" if key.kind in _EVERYWHERE else app.instance
    return " | ".join((finding.rule, instance, key.kind.value, key.name, key.scope, key.detail))


def _last_sync(report: AppReport) -> LastSync | None:
    operation = report.case.operation
    if operation is None:
        return None
    result = operation.sync_result
    return LastSync(
        phase=operation.phase,
        started_at=operation.started_at.isoformat() if operation.started_at else "",
        revision=(result.revision or " ".join(result.revisions)) if result is not None else "",
        message=one_line(operation.message, 300),
    )
