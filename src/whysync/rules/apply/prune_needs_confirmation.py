"""Pruning waits for a confirmation, or a sync option forbids it.

## What happens
`Prune=confirm` on an object makes the sync wait, before anything is applied, until somebody approves the
deletion. `Prune=false` keeps the object, and the Application stays OutOfSync. Both were set to protect the
object.

## How whysync knows
The operation waits for pruning confirmation, or the live object that is no longer in Git has `Prune=false` or
`Prune=confirm`.

## Fix
Confirm the deletion after checking what will be deleted; or restore the object in Git; or keep it on purpose
(`Prune=false`) and exclude it from the sync status: `IgnoreExtraneous`.

## When it is something else
Pruning is not enabled: pending-prune. The deletion has started and does not finish: finalizer-stuck.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import Awaited
from whysync.queries.commands import app_argument, comment, on_object
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.last_applied import last_applied_manifest
from whysync.queries.sync_options import has_option
from whysync.queries.waiting_on import wait_of

OPTIONS = "/metadata/annotations/argocd.argoproj.io~1sync-options"
APP_OPTIONS = "/spec/syncPolicy/syncOptions"
KEEP = "Prune=false"
CONFIRM = "Prune=confirm"


@rule(cause="prune-blocked", since="0.1")
def prune_needs_confirmation(case: Case) -> Iterator[Finding]:
    wait = wait_of(case)
    waiting = wait is not None and wait.what is Awaited.PRUNE_CONFIRMATION
    for row in case.app.status.resources:
        symptom = SymptomId.extra(row.key)
        live = case.live_of(row.key)
        if symptom not in case.symptom_ids or live is None:
            continue
        if waiting and wait is not None and row.key == wait.ref.key:
            continue
        if has_option(live, KEEP) or case.has_sync_option(KEEP):
            yield _finding(
                case, row.ref, live, (symptom,), "Prune=false keeps it in the cluster", option=KEEP
            )
        elif has_option(live, CONFIRM):
            reason = "Prune=confirm requires its deletion to be confirmed"
            yield _finding(case, row.ref, live, (symptom,), reason, option=CONFIRM)
    if waiting and wait is not None:
        more = and_more(wait.others)
        extra = SymptomId.extra(wait.ref.key)
        explains = (OPERATION, *((extra,) if extra in case.symptom_ids else ()))
        reason = f"the sync waits until its deletion is confirmed{more}"
        yield _finding(case, wait.ref, case.live_of(wait.ref.key), explains, reason, option=CONFIRM)


def _finding(
    case: Case, ref: Ref, live: Manifest | None, explains: tuple[SymptomId, ...], reason: str, *, option: str
) -> Finding:
    is_on_object = live is not None and has_option(live, option)
    return Finding(
        about=ref,
        field=OPTIONS if is_on_object else None,
        explains=explains,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        verdict=f"{ref} is no longer in Git: {reason}",
        evidence=tuple(
            _evidence(case, ref, live if is_on_object else None, option, waits=OPERATION in explains)
        ),
        fixes=(
            *((_kept(ref),) if option == KEEP else ()),
            _declared_again(ref, live),
            Fix.run(
                on_object("delete", ref)
                if option == KEEP
                else f"argocd app confirm-deletion {app_argument(case)}",
                title="Delete it" if option == KEEP else "Confirm the deletion",
                destroys=(f"{ref}: {deletion_cost(case, ref) or 'and its dependents'}",),
            ),
        ),
    )


def _evidence(
    case: Case, ref: Ref, annotated: Manifest | None, option: str, *, waits: bool
) -> Iterator[Evidence]:
    if annotated is not None:
        yield cite(annotated, OPTIONS, says="the sync option that prevents pruning")
    elif case.has_sync_option(option):
        yield cite(case.application, APP_OPTIONS, says="the sync option that prevents pruning")
    if waits:
        yield cite(case.application, "/status/operationState/message", says="what the sync waits for")
        return
    for index, row in enumerate(case.app.status.resources):
        if row.key == ref.key:
            yield cite(case.application, f"/status/resources/{index}", says="Argo CD would prune it")


def _kept(ref: Ref) -> Fix:
    return Fix.run(
        on_object("annotate", ref, "argocd.argoproj.io/compare-options=IgnoreExtraneous"),
        title="Keep it on purpose, without counting as OutOfSync",
    )


def _declared_again(ref: Ref, live: Manifest | None) -> Fix:
    """Restores the last applied manifest in Git; without one, it has to be found in the history."""
    title = "Restore it in Git, if it is still needed"
    applied = last_applied_manifest(live)
    if applied is not None:
        return Fix.new(applied, title=title)
    return Fix.run(on_object("get", ref, "-o", "yaml"), comment("commit its manifest again"), title=title)
