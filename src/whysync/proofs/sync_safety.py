"""Is it safe to sync now? Some answers follow from the facts; the others are simulated.

Unsafe is what cannot be undone or does immediate damage: a change that a person made within the last hour is
reverted, running pods are dropped, objects that hold data are deleted or recreated. What merely does not help
is safe, and the reason says so. It is unknown if the facts are not sufficient for a simulation, or if the
simulation and Argo CD disagree. No verdict contradicts a finding: see `bounded`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from whysync.argocd.sync_windows.windows import can_sync, matching, next_allowed
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.freshness import skips_reconcile
from whysync.diagnosis.report import AppReport, Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.symptom import Side, SymptomKind
from whysync.fixes.while_syncing import is_running
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.proofs.scope import has_ignored_difference, has_replace_option
from whysync.queries.attempts import CHANCE, attempts, pending_retry
from whysync.queries.commands import is_sync
from whysync.queries.gone_cluster import is_in_deletion

log = logging.getLogger(__name__)
_UNKNOWN: Final = SyncOutcome.UNKNOWN
_FAILS: Final = ReasonKind.SYNC_FAILS
_NO_FACTS: Final = ReasonKind.FACTS_MISSING
_NOTHING_DIFFERS: Final = "nothing differs, so it changes nothing"
_SYNC_SYMPTOMS: Final = frozenset({SymptomKind.OPERATION, SymptomKind.RESULT})
_REPLACED: Final = frozenset({ReasonKind.CHANGES_NOTHING, ReasonKind.FAILED_BEFORE})
_PASSING: Final = frozenset({"api_server_failing", "object_modified_conflict"})
"""Rules about failures that often end by themselves: their fix is to try again."""
_RUN_AGAIN: Final = frozenset({"hook_failed"})
"""Rules about failures whose cause the facts may not show: only another run does."""
_REPEATED: Final = _REPLACED | {ReasonKind.FACTS_MISSING}
_WINDOW: Final = "sync-window"
_EMPTY_SOURCE: Final = "autosync-empty-refused"
_EMPTY: Final = "without --prune it deletes nothing; with --prune it deletes every resource of the app"
_NO_CONTROLLER: Final = "controller-stale"
_ARGOCD_RBAC: Final = "argocd-rbac"
_NONDETERMINISTIC: Final = "nondeterministic"
_TEMPORARY: Final = frozenset(
    {
        ReasonKind.DOES_NOT_LAST,
        ReasonKind.DOES_NOT_HELP,
        ReasonKind.SYNC_LOOP,
        ReasonKind.CHANGES_NOTHING,
        ReasonKind.SYNC_FAILS,
        ReasonKind.SYNC_HANGS,
        ReasonKind.REPLACES_GENERATED_VALUE,
    }
)
_SKIPPED: Final = (
    "it would not start until the annotation skip-reconcile is removed; what differs then is not known,"
    " because Argo CD does not compare the app meanwhile"
)


def safety_of(case: Case, findings: Sequence[Finding] = ()) -> Safety:
    """Never raises: if the simulation fails, the verdict is unknown."""
    try:
        safety = _safety_from_facts(case)
        if safety is None:
            from whysync.proofs.simulated_safety import (
                simulated_safety,  # imports the simulation only if needed
            )

            safety = simulated_safety(case, findings)
        return bounded(safety, case, findings)
    except Exception as problem:  # a diagnosis without a verdict is better than none
        log.debug("the simulation of %s failed", case.app.name, exc_info=True)
        return Safety.unknown(
            ReasonKind.SIMULATION_FAILED,
            f"the simulation failed ({type(problem).__name__}: {problem})",
        )


def with_predicted_failure(report: AppReport) -> AppReport:
    """Add the cause of a failure that only the simulation shows. Never raises."""
    if not _has_new_failure(report):
        return report
    from whysync.proofs.predicted_failure import predicted_failure  # imports the simulation only if needed

    try:
        finding = predicted_failure(report)
    except Exception:
        log.debug("the failure of %s could not be predicted", report.name, exc_info=True)
        return report
    return _with_prediction(report, finding) if finding else report


def _has_new_failure(report: AppReport) -> bool:
    """Does a sync fail in the simulation, while the app's last sync did not?"""
    operation, safety = report.case.operation, report.safety
    kinds = {reason.kind for reason in safety.reasons}
    return (
        safety.outcome is SyncOutcome.FAILS
        and ReasonKind.SYNC_FAILS in kinds
        and ReasonKind.MODEL_DIFFERS not in kinds
        and (operation is None or operation.phase == "Succeeded")
    )


def _with_prediction(report: AppReport, predicted: Finding) -> AppReport:
    """The verdict gives the predicted cause instead of Argo CD's message; fixes that only sync fail on it."""
    reasons = tuple(
        replace(reason, text=f"it would fail: {predicted.verdict}")
        if reason.kind is ReasonKind.SYNC_FAILS
        else reason
        for reason in report.safety.reasons
    )
    findings = (replace(f, fixes=tuple(map(_with_failure_risk, f.fixes))) for f in report.findings)
    return replace(report, safety=replace(report.safety, reasons=reasons), findings=(*findings, predicted))


def _with_failure_risk(fix: Fix) -> Fix:
    if not any(is_sync(command) for command in fix.commands) or fix.edits:
        return fix
    risk = "it would fail: see below"
    return replace(fix, risk=f"{risk}; {fix.risk}" if fix.risk else risk)


def _safety_from_facts(case: Case) -> Safety | None:
    """The verdict without a simulation; `None` if it needs one."""
    status = case.app.status.sync.status
    if is_in_deletion(case):
        return Safety.refused("the Application is being deleted")
    if skips_reconcile(case):
        return Safety.unknown(ReasonKind.SYNC_HANGS, _SKIPPED, SyncOutcome.FAILS)
    if not status:
        return Safety.unknown(ReasonKind.NOT_COMPARED, "Argo CD has not compared the app yet")
    if status == "Unknown":
        return Safety.unknown(
            ReasonKind.NOT_COMPARED,
            "it would fail immediately and change nothing: Argo CD cannot compare the app",
            SyncOutcome.FAILS,
        )
    commit = _new_commit(case)
    if commit:
        return Safety.unknown(
            ReasonKind.NOT_RENDERED, f"it would apply commit {commit[:7]}, which Argo CD has not rendered yet"
        )
    if status == "Synced" and not is_running(case) and not (case.symptoms and case.desired):
        hidden = _writes_beyond_diff(case)
        if hidden:
            return None if case.desired else Safety.unknown(ReasonKind.FACTS_MISSING, hidden)
        written = (
            has_replace_option(desired_object)
            or has_ignored_difference(case, desired_object, case.live_of(desired_object.key))
            for desired_object in case.desired
        )
        return None if any(written) else _synced(case)
    return None


def _writes_beyond_diff(case: Case) -> str:
    """Why a sync may write more than the differences that Argo CD shows; empty if it does not."""
    if any(case.has_sync_option(option) for option in ("Replace=true", "Force=true")):
        return "nothing differs, but each sync replaces all objects, and the manifests are not in the facts"
    hides = case.app.spec.ignore_differences and not case.has_sync_option("RespectIgnoreDifferences=true")
    if hides and not case.desired:
        return "a sync also writes ignored fields, and the manifests are not in the facts"
    return ""


def _synced(case: Case) -> Safety:
    """The verdict for an app without differences; hooks run again."""
    declared = [resource.manifest.ref for resource in case.desired_resources if resource.is_hook]
    hooks = list(dict.fromkeys(declared or (result.ref for result in case.results if result.hook_type)))
    if not case.app.status.resources and not case.desired:
        return Safety.unknown(
            ReasonKind.FACTS_MISSING,
            "Argo CD reports no resources of the app, and its manifests are not in the facts",
        )
    reasons = [Reason(kind=ReasonKind.CHANGES_NOTHING, text=_NOTHING_DIFFERS)]
    if case.app.status.health.status not in ("Healthy", ""):
        reasons = [_does_not_help()]
    if hooks:
        more = f" and {len(hooks) - 1} more" if len(hooks) > 1 else ""
        description = f"it runs its hooks again: {hooks[0]}{more}"
        reasons.append(Reason(kind=ReasonKind.RUNS_HOOKS, text=description, refs=tuple(hooks)))
    outcome = SyncOutcome.UNKNOWN if hooks else SyncOutcome.SUCCEEDS
    return Safety(sync=SyncSafety.SAFE, outcome=outcome, reasons=tuple(reasons))


def bounded(safety: Safety, case: Case, findings: Sequence[Finding]) -> Safety:
    """The verdict, limited by what the findings report: the simulation may not show their cause.

    A failed comparison makes it unknown what a sync does. A sync that failed is not expected to succeed
    unless the facts show that the cause is gone. A problem that no sync changes is not reported as harmless.
    """
    kinds = {reason.kind for reason in safety.reasons}
    if safety.sync is SyncSafety.UNSAFE or ReasonKind.REFUSED in kinds:
        return safety
    if ReasonKind.SYNC_RUNNING in kinds and safety.sync is SyncSafety.SAFE:
        return safety
    if is_running(case):
        running = Reason(kind=ReasonKind.SYNC_RUNNING, text=running_text(case))
        return Safety(sync=SyncSafety.SAFE, outcome=safety.outcome, reasons=(running,))
    roots = [
        finding
        for finding in findings
        if not finding.caused_by and finding.already_fixed is None and finding.severity is not Severity.INFO
    ]
    blocked = next((root for root in roots if root.cause == _WINDOW and case.project_manifest is None), None)
    if blocked is not None:
        return Safety.refused("a sync window blocks it" if blocked is findings[0] else blocked.verdict)
    if _NO_FACTS in kinds:
        closed = _closed_window(case)
        if closed:
            return Safety.refused(closed)
    if any(root.cause == _EMPTY_SOURCE for root in roots) and _NO_FACTS in kinds:
        return Safety(sync=SyncSafety.SAFE, reasons=(_does_not_help(_EMPTY),))
    if any(root.cause == _NO_CONTROLLER for root in roots):
        why = "it would stay pending until a controller reconciles the app again"
        return Safety.unknown(ReasonKind.SYNC_HANGS, why, SyncOutcome.FAILS)
    if any(root.cause == _ARGOCD_RBAC for root in roots) and _may_not_sync(case):
        return Safety.refused("this account may not sync the app")
    critical = [root for root in roots if root.severity is Severity.CRITICAL]
    uncompared = any(root.side is Side.COMPARE and not _explains_failed_sync(root, case) for root in critical)
    if uncompared and safety.sync is SyncSafety.SAFE:
        why = "what it would change is not known until Argo CD can compare the app again"
        return Safety.unknown(ReasonKind.NOT_COMPARED, why, safety.outcome if _fails(safety) else _UNKNOWN)
    failed = next((root for root in critical if _explains_failed_sync(root, case)), None)
    if failed is not None and _is_to_run_again(failed) and (not _fails(safety) or _FAILS in kinds):
        return _may_fail_again(safety, case, failed)
    if failed is not None and not _fails(safety):
        return _failed_before(safety, case, failed, is_headline=failed is findings[0])
    if safety.sync is SyncSafety.SAFE and not _lasts(safety, roots):
        again = Reason(
            kind=ReasonKind.DOES_NOT_LAST, text="it does not last: the next rendering differs again"
        )
        return replace(safety, reasons=(again, *safety.reasons))
    if [reason.text for reason in safety.reasons] == [_NOTHING_DIFFERS] and _is_hidden(findings):
        nothing = replace(safety.reasons[0], text="Argo CD sees no difference, so it changes nothing")
        return replace(safety, reasons=(nothing,))
    if roots and [reason.kind for reason in safety.reasons][:1] == [ReasonKind.CHANGES_NOTHING]:
        return replace(safety, reasons=(_does_not_help(safety.reasons[0].text), *safety.reasons[1:]))
    return safety


def _is_hidden(findings: Sequence[Finding]) -> bool:
    """Is the first finding a difference that Argo CD does not show?"""
    return bool(findings) and findings[0].side is Side.DRIFT


def _closed_window(case: Case) -> str:
    """The window that refuses a manual sync now, whatever the manifests are; empty if none does."""
    project = case.effective_project
    windows = matching(project.spec.sync_windows, case.app) if project is not None else ()
    if can_sync(windows, case.now, manual=True).allowed:
        return ""
    end = next_allowed(windows, case.now)
    until = f" until {end:%Y-%m-%d %H:%M} UTC" if end is not None else ""
    return f"a sync window denies it{until}, also a manual one"


def running_text(case: Case) -> str:
    retry = pending_retry(case)
    if retry:
        return (
            f"the sync failed, and Argo CD tries again by itself ({retry}); until then it refuses another one"
        )
    return "a sync is already running; Argo CD refuses another one until it ends"


def _may_not_sync(case: Case) -> bool:
    """Was it a sync that Argo CD's RBAC denied, or an action that the message does not name?"""
    return any(report.failure.action in ("sync", "") for report in case.failures(ArgocdDenied))


def _lasts(safety: Safety, roots: Sequence[Finding]) -> bool:
    """Does the source render the same again, or is it said already that the sync is of no use?"""
    said = any(reason.kind in _TEMPORARY for reason in safety.reasons)
    return said or not any(root.cause == _NONDETERMINISTIC for root in roots)


def _failed_before(safety: Safety, case: Case, failed: Finding, *, is_headline: bool) -> Safety:
    """The verdict if the simulation does not reproduce the failure of the last sync."""
    cause = "" if is_headline else f": {failed.verdict}"
    if _may_pass(failed) and _repeats(safety, case):
        reason = Reason(kind=ReasonKind.MAY_PASS, text=f"{_tried_text(case)}{cause}", refs=(failed.about,))
        changes = tuple(reason for reason in safety.reasons if reason.kind not in _REPEATED)
        return Safety(sync=SyncSafety.SAFE, outcome=_UNKNOWN, reasons=(reason, *changes))
    reason = Reason(
        kind=ReasonKind.FAILED_BEFORE, text=f"{failed_before_text(case)}{cause}", refs=(failed.about,)
    )
    is_safe = bool(case.desired) and safety.sync is SyncSafety.SAFE
    changes = tuple(reason for reason in safety.reasons if reason.kind not in _REPLACED)
    return Safety(
        sync=SyncSafety.SAFE if is_safe else SyncSafety.UNKNOWN,
        outcome=_UNKNOWN,
        reasons=(reason, *changes),
    )


def _may_pass(failed: Finding) -> bool:
    return failed.rule in _PASSING and failed.fixes[:1] != () and failed.fixes[0].kind is FixKind.COMMAND


def _is_to_run_again(failed: Finding) -> bool:
    """Is the first fix to run it again, with nothing to correct before?"""
    commands = failed.fixes[0].commands if failed.fixes else ()
    return failed.rule in _RUN_AGAIN and any(is_sync(command) for command in commands[:1])


def _may_fail_again(safety: Safety, case: Case, failed: Finding) -> Safety:
    """The verdict if the facts do not show why it failed, so that it is not known whether it does again."""
    words = f"it may fail again: the facts do not show why {failed.about} failed"
    reason = Reason(kind=ReasonKind.MAY_PASS, text=words, refs=(failed.about,))
    changes = tuple(reason for reason in safety.reasons if reason.kind not in {*_REPLACED, _FAILS})
    sync = safety.sync if case.desired else SyncSafety.UNKNOWN
    return Safety(sync=sync, outcome=_UNKNOWN, reasons=(reason, *changes))


def _repeats(safety: Safety, case: Case) -> bool:
    """Is a sync safe, or does it only repeat the last one: the same commit?"""
    if safety.sync is SyncSafety.SAFE:
        return True
    result = case.operation.sync_result if case.operation is not None else None
    known = {reason.kind for reason in safety.reasons} <= _REPEATED
    return known and result is not None and bool(result.revision) and (result.revision,) == case.app.revisions


def _tried_text(case: Case) -> str:
    """What is known of a failure that often ends by itself."""
    times = attempts(case)
    if times > CHANCE:
        return f"the last sync failed {times} times: trying again does no harm, but may fail again"
    return "the last sync failed; that is often temporary, and trying again does no harm"


def failed_before_text(case: Case) -> str:
    """`the last sync failed 5 times, and nothing shows that the cause is fixed`."""
    times = attempts(case)
    how_often = f"failed {times} times" if times > 1 else "failed"
    return f"the last sync {how_often}, and nothing shows that the cause is fixed"


def _fails(safety: Safety) -> bool:
    return safety.outcome is SyncOutcome.FAILS


def _explains_failed_sync(finding: Finding, case: Case) -> bool:
    """Does the finding explain why a sync failed?"""
    if finding.cause == _EMPTY_SOURCE:
        return False  # auto-sync did not start one
    kinds = {symptom.kind for symptom in finding.explains}
    skipped = case.operation is not None and case.operation.phase == "Succeeded"
    by_condition = finding.side is Side.APPLY and SymptomKind.CONDITION in kinds and not skipped
    return bool(kinds & _SYNC_SYMPTOMS) or by_condition


def _does_not_help(why: str = _NOTHING_DIFFERS) -> Reason:
    return Reason(kind=ReasonKind.DOES_NOT_HELP, text=f"it does not help: {why}")


def _new_commit(case: Case) -> str:
    """The commit that a sync would apply, if it differs from the compared one."""
    revisions = case.app.revisions
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        if head is not None and index < len(revisions) and head.commit != revisions[index]:
            return head.commit
    return ""
