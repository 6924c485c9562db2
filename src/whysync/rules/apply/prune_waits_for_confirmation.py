"""Pruning waits for a person to confirm it, or an option forbids it.

## What happens
`Prune=confirm` on an object makes the sync wait until somebody approves the deletion; `Prune=false`
keeps the object for good, and the Application stays OutOfSync. Both are protections that somebody
put there.

## How whysync knows
The operation waits for pruning confirmation, or the live object that is not in Git any more carries
`Prune=false` or `Prune=confirm`.

## Fix
Confirm it, after looking at what will be deleted; or put the object back into Git; or take the
option off.

## When it is something else
Pruning is simply not switched on: pending-prune. The deletion has begun and does not end:
finalizer-stuck.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.contracts.ref import Ref
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.awaited import wait_of
from whysync.diagnosis.commands import app_argument, on_object
from whysync.diagnosis.sync_options import has_option
from whysync.semantics.messages import Awaited

OPTIONS = "/metadata/annotations/argocd.argoproj.io~1sync-options"


@rule(cause="prune-blocked", since="0.1")
def prune_waits_for_confirmation(case: Case) -> Iterator[Finding]:
    wait = wait_of(case)
    waiting = wait is not None and wait.what is Awaited.PRUNE_CONFIRMATION
    for row in case.app.status.resources:
        symptom = f"extra:{row.key}"
        live = case.live_of(row.key)
        if symptom not in case.symptom_ids or live is None:
            continue
        if waiting and wait is not None and row.key == wait.ref.key:
            continue
        if has_option(live, "Prune=false") or case.has_sync_option("Prune=false"):
            yield _finding(case, row.ref, live, (symptom,), "Prune=false keeps it")
        elif has_option(live, "Prune=confirm"):
            yield _finding(case, row.ref, live, (symptom,), "Prune=confirm wants a person to approve it")
    if waiting and wait is not None:
        more = f" and {wait.others} more" if wait.others else ""
        extra = f"extra:{wait.ref.key}"
        explains = ("operation", *((extra,) if extra in case.symptom_ids else ()))
        words = f"the sync waits for somebody to confirm its deletion{more}"
        yield _finding(case, wait.ref, case.live_of(wait.ref.key), explains, words)


def _finding(case: Case, ref: Ref, live: Manifest | None, explains: tuple[str, ...], words: str) -> Finding:
    kept = words.startswith("Prune=false")
    confirm = f"argocd app confirm-deletion {app_argument(case)}"
    return Finding(
        about=ref,
        field=OPTIONS,
        explains=explains,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        verdict=f"{ref} is not in Git any more: {words}",
        evidence=(
            *((cite(live, OPTIONS, says="the option that holds it"),) if live else ()),
            *(
                (cite(case.application, "/status/operationState/message", says="what the sync waits for"),)
                if "operation" in explains
                else ()
            ),
        )
        or (cite(case.application, "/spec/syncPolicy/syncOptions", says="the option that holds it"),),
        fixes=(
            Fix.run(
                on_object("get", ref, "-o", "yaml"),
                title="Put it back into Git, if it is still needed",
            ),
            Fix.run(
                on_object("delete", ref) if kept else confirm,
                title="Delete it" if kept else "Confirm the deletion",
                destroys=(f"{ref}, with what belongs to it",),
            ),
        ),
    )
