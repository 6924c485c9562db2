"""A sync window of the project does not allow the sync now.

## What happens
Sync windows of the AppProject define when its Applications may be synced. An active deny window forbids it;
if there are allow windows and none is active, that forbids it too. An operation that was started anyway stays
Running (or Terminating) until a window allows it. Auto-sync does nothing, and reports it only in the
controller's log.

## How whysync knows
`blocked by sync window`. whysync also evaluates the project's windows for this Application at this time:
which of them decide, whether a manual sync is allowed, and when the next sync may run.

## Fix
Wait for the time that is shown. A manual sync is possible only if every deciding window has `manualSync:
true`.

## When it is something else
A window that cannot be parsed (an invalid schedule or duration) blocks all syncs until it is corrected.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from shlex import quote

from whysync.argocd.api.project import SyncWindow
from whysync.argocd.sync_windows.windows import WindowReason, WindowVerdict, can_sync, matching, next_allowed
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision
from whysync.diagnosis.finding import EvidenceKey, KeyKind
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import SymptomId
from whysync.messages.patterns.operations import SyncWindowBlocked
from whysync.queries.commands import app_argument, sync, with_comment
from whysync.queries.group_failures import grouped

WINDOWS = "/spec/syncWindows"
_LONGEST_WAIT = timedelta(hours=12)
_TIME_TO_SYNC = timedelta(minutes=10)


@rule(cause="sync-window", since="0.1")
def sync_window_closed(case: Case) -> Iterator[Finding]:
    project = case.effective_project
    windows = matching(project.spec.sync_windows, case.app) if project is not None else ()
    automatic = can_sync(windows, case.now, manual=False)
    reported = tuple(grouped(case, SyncWindowBlocked))
    for group in reported:
        yield _finding(
            case,
            windows,
            automatic,
            explains=group.explains,
            evidence=group.cited(says="the sync is blocked"),
            invalid=group.failure.invalid,
        )
    waits = has_unsynced_revision(case) or _never_synced(case)
    if not reported and not automatic.allowed and case.is_automated and waits:
        differs = tuple(s.id for s in case.symptoms if s.kind in (SymptomKind.DIFFERS, SymptomKind.MISSING))
        if differs:
            yield _finding(case, windows, automatic, explains=differs, evidence=(), invalid="")


def _never_synced(case: Case) -> bool:
    return case.operation is None and not case.app.status.history


def _finding(
    case: Case,
    windows: tuple[SyncWindow, ...],
    automatic: WindowVerdict,
    *,
    explains: tuple[SymptomId, ...],
    evidence: tuple[Evidence, ...],
    invalid: str,
) -> Finding:
    manual = can_sync(windows, case.now, manual=True)
    next_sync = next_allowed(windows, case.now) if not automatic.allowed else None
    return Finding(
        about=case.project_manifest.ref if case.project_manifest else case.application.ref,
        field=WINDOWS if case.project_manifest else None,
        explains=explains,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if not automatic.allowed or invalid else Confidence.MEDIUM,
        verdict=_verdict(case, automatic, next_sync, invalid or automatic.error),
        evidence=(*evidence, *_cited(case, automatic)),
        fixes=tuple(_fixes(case, automatic, manual, next_sync)),
        key=EvidenceKey(
            kind=KeyKind.PROJECT,
            name=case.app.project,
            detail=invalid or automatic.error or f"{automatic.reason} {_named(automatic)}",
        ),
    )


def _verdict(case: Case, automatic: WindowVerdict, next_sync: datetime | None, invalid: str) -> str:
    project = case.app.project
    if invalid:
        return f"a sync window of project {project} is invalid, which blocks every sync: {invalid}"
    when = f"; the next sync may run at {next_sync:%Y-%m-%d %H:%M} UTC" if next_sync is not None else ""
    if automatic.reason is WindowReason.DENY_OPEN:
        return f"{_named(automatic)} of project {project} denies syncing now{when}"
    if automatic.reason is WindowReason.ALLOWS_CLOSED:
        return f"no allow window of project {project} is open now ({_named(automatic)}){when}"
    if case.project is None:
        return f"a sync window of project {project} blocks the sync"
    return f"a sync window of project {project} blocked the sync; the current windows allow it"


def _named(verdict: WindowVerdict) -> str:
    """`deny window "0 22 * * *" for 8h`."""
    descriptions = [f'{w.kind} window "{w.schedule}" for {w.duration}' for w in verdict.windows[:2]]
    return " and ".join(descriptions) + and_more(len(verdict.windows) - 2)


def _cited(case: Case, automatic: WindowVerdict) -> Iterator[Evidence]:
    if case.project is None or case.project_manifest is None:
        return
    deciding = _deciding(case, automatic)
    for index in deciding[:3]:
        yield cite(case.project_manifest, f"{WINDOWS}/{index}", says="this window decides")
    if not deciding and case.project.spec.sync_windows:
        yield cite(
            case.project_manifest, WINDOWS, says="the project's windows; none applies to this Application now"
        )


def _deciding(case: Case, verdict: WindowVerdict) -> list[int]:
    """Indexes of the deciding windows in the project, which are also their ids in `argocd proj windows`."""
    windows = case.project.spec.sync_windows if case.project is not None else ()
    return [index for index, window in enumerate(windows) if window in verdict.windows]


def _wait(case: Case, next_sync: datetime | None) -> str:
    """Nobody waits at a terminal for days: then a look afterwards is enough."""
    remaining = next_sync - case.now if next_sync is not None else None
    if remaining is None or remaining > _LONGEST_WAIT:
        return with_comment(f"argocd app get {app_argument(case)}", "afterwards: Synced?")
    seconds = math.ceil((remaining + _TIME_TO_SYNC) / timedelta(minutes=1)) * 60
    return f"argocd app wait {app_argument(case)} --operation --sync --timeout {seconds}"


def _fixes(
    case: Case, automatic: WindowVerdict, manual: WindowVerdict, next_sync: datetime | None
) -> Iterator[Fix]:
    list_windows = f"argocd proj windows list {quote(case.app.project)}"
    if automatic.reason is WindowReason.INVALID:
        yield Fix.run(list_windows, title="Correct the invalid window")
        return
    yield Fix.run(
        list_windows,
        _wait(case, next_sync),
        title=f"Wait until {next_sync:%Y-%m-%d %H:%M} UTC"
        if next_sync
        else "Wait until the windows allow it",
    )
    if not automatic.allowed and manual.allowed:
        yield Fix.run(sync(case), title="Or sync manually: these windows allow it (manualSync)")
    elif not automatic.allowed:
        enable = f"argocd proj windows enable-manual-sync {quote(case.app.project)}"
        yield Fix.run(
            list_windows,
            *(f"{enable} {index}" for index in _deciding(case, manual) or ("ID",)),
            sync(case),
            title="Or allow manual syncs in the deciding windows, if it cannot wait",
            risk="everybody who may sync can then sync at any time, until it is disabled again",
        )
