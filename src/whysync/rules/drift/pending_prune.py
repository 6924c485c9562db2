"""Removed from Git, and still in the cluster, as nothing prunes it.

## What happens
An object that Argo CD once applied is not in Git any more. Argo CD deletes it only when pruning is asked
for. Until then the app is OutOfSync, and the field-by-field diff is empty.

## How whysync knows
The row says that it requires pruning, or the last sync reports that it left the object in place
(`ignored (requires pruning)`), and pruning is off for the app.

## Fix
Three ways out: prune it; put it back into Git; or keep it on purpose, with
`argocd.argoproj.io/compare-options: IgnoreExtraneous` on the live object so that it does not count.

## When it is something else
A controller that copies labels or annotations can make an object look like the app's own: then it was
never in Git. When all rows at once require pruning, the source rendered to nothing. An option of the object
itself (`Prune=false`) forbids it: prune-blocked.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import needs_pruning
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.operations import AutosyncWipeRefused, PruneSkipped
from whysync.queries.commands import on_object, refresh, sync
from whysync.queries.creators import creator_of, was_applied
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.sync_options import has_option


@rule(cause="pending-prune", since="0.1", on_absence=True)
def pending_prune(case: Case) -> Iterator[Finding]:
    if case.app.status.sync.status == "Unknown":
        return  # nothing was rendered: every row then looks like that
    rows = [(i, row) for i, row in enumerate(case.app.status.resources) if _is_extra(case, row)]
    if not rows or case.failures(AutosyncWipeRefused):
        return  # where the source is empty, that is the trouble
    names = ", ".join(str(row.ref) for _, row in rows[:3]) + (
        f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    )
    why = _why(case)
    selection = " ".join(
        f"--resource {quote(f'{row.group}:{row.kind}:{row.ref.place}')}" for _, row in rows[:10]
    )
    yield Finding(
        about=rows[0][1].ref,
        explains=tuple(SymptomId.extra(row.key) for _, row in rows),
        confidence=Confidence.MEDIUM,
        verdict=f"{names}: not in Git any more, and {why}{_other_reading(case, rows)}",
        evidence=tuple(_evidence(case, rows)),
        fixes=(
            Fix.run(
                on_object("annotate", rows[0][1].ref, "argocd.argoproj.io/compare-options=IgnoreExtraneous"),
                title="Keep it on purpose: it stays, and does not count as OutOfSync",
            ),
            Fix.run(
                f"git log --oneline -S {quote(f'name: {rows[0][1].name}')}   # which commit took it out",
                "git revert COMMIT && git push",
                refresh(case),
                title="It should not have gone: put it back into Git",
            ),
            Fix.run(
                sync(case, "--prune", "--dry-run", selection),
                sync(case, "--prune", selection),
                title="Prune it: look at the dry run first",
                risk="what is pruned is gone; a rename in Git is a prune and a create",
                destroys=tuple(_loss(case, row) for _, row in rows),
            ),
        ),
    )


def _other_reading(case: Case, rows: list[tuple[int, ResourceRow]]) -> str:
    """Without a sign that Argo CD applied it, nothing shows that the object ever was in Git."""
    objects = [case.live_of(row.key) for _, row in rows]
    if all(live is not None and was_applied(live) for live in objects):
        return ""
    if len(rows) == 1:
        return "; or it never was in Git: a controller that copies tracking marks made it"
    return "; or they never were in Git: a controller that copies tracking marks made them"


def _is_extra(case: Case, row: ResourceRow) -> bool:
    extra = needs_pruning(case, row) and row.status == "OutOfSync" and not _being_pruned(case)
    if not extra or creator_of(case, row) is not None:
        return False  # what was never in Git is another story
    live = case.live_of(row.key)
    # What forbids its pruning, or keeps it while it is being deleted, is told where it is known better.
    return live is None or not (_is_kept(case, live) or _is_held(live))


def _is_kept(case: Case, live: Manifest) -> bool:
    return has_option(live, "Prune=false") or case.has_sync_option("Prune=false")


def _is_held(live: Manifest) -> bool:
    return bool(live.meta.get("deletionTimestamp") and live.meta.get("finalizers"))


def _being_pruned(case: Case) -> bool:
    operation = case.operation
    return (
        operation is not None
        and operation.phase == "Running"
        and bool(operation.operation.sync and operation.operation.sync.prune)
    )


def _why(case: Case) -> str:
    if case.is_automated:
        return "automatic pruning has not taken it yet" if case.prunes else "automatic pruning is off"
    return "nobody has synced with --prune"


def _evidence(case: Case, rows: list[tuple[int, ResourceRow]]) -> Iterator[Evidence]:
    for index, _ in rows[:5]:
        yield cite(case.application, f"/status/resources/{index}", says="Argo CD would prune it")
    for report in case.failures(PruneSkipped)[:1]:
        yield report.cite(says="the last sync left it in place")
    yield cite(case.application, "/spec/syncPolicy", says="how the app syncs")


def _loss(case: Case, row: ResourceRow) -> str:
    lost = deletion_cost(case, row.ref)
    return f"{row.ref}: {lost}" if lost else str(row.ref)
