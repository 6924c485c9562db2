"""Is it safe to sync now? What can be said at once; the rest is tried on the world of the Case.

Unsafe is what cannot be taken back or hurts at once: work of a person that is an hour old, running pods that
are dropped, objects that hold data and are deleted or made anew. What merely does not help is safe, and says
so. Where the facts do not make a world, or the model sees something else than Argo CD does, it is unknown.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.fixes.while_syncing import is_running
from whysync.proofs.scope import is_forced, is_hook, is_overwritten

log = logging.getLogger(__name__)


def safety_of(case: Case, findings: Sequence[Finding] = ()) -> Safety:
    """Never raises: what goes wrong with a simulation is a reason for not knowing."""
    try:
        early = _without_a_world(case)
        if early is not None:
            return early
        from whysync.proofs.try_sync import tried  # a whole cluster is loaded only where it is needed

        return tried(case, findings)
    except Exception as problem:  # a diagnosis without a verdict is better than none
        log.debug("the simulation of %s failed", case.app.name, exc_info=True)
        return Safety.unknown(
            ReasonKind.SIMULATION_FAILED,
            f"the sync could not be tried on the model ({type(problem).__name__}: {problem})",
        )


def _without_a_world(case: Case) -> Safety | None:
    """What can be said though nothing was tried."""
    status = case.app.status.sync.status
    if case.app.metadata.deletion_timestamp is not None:
        return Safety.refused("the Application is being deleted")
    if not status:
        return Safety.unknown(ReasonKind.NOT_COMPARED, "Argo CD has not compared the app yet")
    if status == "Unknown":
        return Safety.unknown(
            ReasonKind.NOT_COMPARED,
            "it fails at once and changes nothing while Argo CD cannot compare the app;"
            " what it would do after that cannot be seen",
            SyncOutcome.FAILS,
        )
    moved = _moved_on(case)
    if moved:
        return Safety.unknown(
            ReasonKind.NOT_RENDERED, f"it would bring commit {moved[:7]}, which Argo CD has not rendered yet"
        )
    if status == "Synced" and not is_running(case) and not (case.symptoms and case.desired):
        hidden = _beyond_the_diff(case)
        if hidden:
            return None if case.desired else Safety.unknown(ReasonKind.FACTS_MISSING, hidden)
        moving = (
            is_forced(desired_object)
            or is_overwritten(case, desired_object, case.live_of(desired_object.key))
            for desired_object in case.desired
        )
        return None if any(moving) else _synced(case)
    return None


def _beyond_the_diff(case: Case) -> str:
    """Options of the app with which a sync writes more than differs, whatever Argo CD shows."""
    if any(case.has_sync_option(option) for option in ("Replace=true", "Force=true")):
        return "nothing differs, but each sync replaces all objects as a whole, and Git's side is not at hand"
    hides = case.app.spec.ignore_differences and not case.has_sync_option("RespectIgnoreDifferences=true")
    if hides and not case.desired:
        return "a sync also writes what ignore rules hide, and Git's side of that is not at hand"
    return ""


def _synced(case: Case) -> Safety:
    """Nothing to be done; what hooks do, they do again."""
    known = [desired_object.ref for desired_object in case.desired if is_hook(desired_object)]
    hooks = list(dict.fromkeys(known or (result.ref for result in case.results if result.hook_type)))
    words = "nothing differs: it changes nothing"
    if case.app.status.health.status == "Degraded":
        words += ", and mends nothing"
    reasons = [Reason(kind=ReasonKind.CHANGES_NOTHING, text=words)]
    if hooks:
        more = f" and {len(hooks) - 1} more" if len(hooks) > 1 else ""
        words = f"it runs its hooks again: {hooks[0]}{more}"
        reasons.append(Reason(kind=ReasonKind.RUNS_HOOKS, text=words, refs=tuple(hooks)))
    outcome = SyncOutcome.UNKNOWN if hooks else SyncOutcome.SUCCEEDS
    return Safety(sync=SyncSafety.SAFE, outcome=outcome, reasons=tuple(reasons))


def _moved_on(case: Case) -> str:
    """The commit that a sync would bring, where that is another one than was compared."""
    revisions = case.app.revisions
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        if head is not None and index < len(revisions) and head.commit != revisions[index]:
            return head.commit
    return ""
