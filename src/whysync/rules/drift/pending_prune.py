"""A resource was removed from Git but has not been pruned.

## What happens
An object that Argo CD applied is no longer in Git. Argo CD deletes it only if pruning is enabled. Until then
the app is OutOfSync, and the diff shows no changed fields.

## How whysync knows
The resource requires pruning, or the last sync reports that it did not delete the object
(`ignored (requires pruning)`).

## Fix
Prune it; or add it to Git again; or keep it on purpose, with `argocd.argoproj.io/compare-options:
IgnoreExtraneous` on the live object, so that it does not count for the sync status.

## When it is something else
A controller that copies tracking labels or annotations can create objects that look like part of the app but
were never in Git. Another Argo CD with an app of the same name tracks its objects with the same ids: possible
if this app has no sync history. If all resources require pruning, the source rendered no manifests.
`Prune=false` on the object prevents pruning: prune-blocked.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.tracking.method import TRACKING_ID, TrackingId
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, cite, cite_if, rule
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import needs_pruning
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import AutosyncWipeRefused, PruneSkipped
from whysync.queries.commands import comment, kubectl, named, on_object, refresh, sync, with_comment
from whysync.queries.creators import creator_of, was_applied
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.drift import annotation_tracking
from whysync.queries.generated_names import renamed_by_rendering
from whysync.queries.sync_options import has_option

_HELM_POLICY = "/metadata/annotations/helm.sh~1resource-policy"


@rule(cause="pending-prune", since="0.1", on_absence=True)
def pending_prune(case: Case) -> Iterator[Finding]:
    if case.app.status.sync.status == "Unknown":
        return  # nothing was rendered, so every resource seems to require pruning
    renamed = {row.key for _, earlier in renamed_by_rendering(case) for row in earlier}
    rows = [
        (i, row)
        for i, row in enumerate(case.app.status.resources)
        if _is_extra(case, row) and row.key not in renamed  # generated_name_changes reports these
    ]
    if not rows or case.failures(AutosyncWipeRefused):
        return  # an empty source is the cause
    names = listed(row.ref for _, row in rows)
    forbidden = all(_is_forbidden(case, row) for _, row in rows)
    why = _why(case, rows, forbidden=forbidden)
    selection = " ".join(
        f"--resource {quote(f'{row.group}:{row.kind}:{row.ref.place}')}" for _, row in rows[:10]
    )
    them = "it" if len(rows) == 1 else "them"
    check = _check_first(rows, may_be_created=bool(_alternative(case, rows)))
    keep = Fix.run(
        *(
            on_object(
                "annotate",
                row.ref,
                "argocd.argoproj.io/compare-options=IgnoreExtraneous",
                "argocd.argoproj.io/sync-options=Prune=false",
            )
            for _, row in rows[:10]
        ),
        title=f"Keep {them} on purpose: exclude {them} from the sync status and from pruning",
    )
    yield Finding(
        about=rows[0][1].ref,
        cause="prune-blocked" if forbidden else "",
        explains=tuple(SymptomId.extra(row.key) for _, row in rows),
        confidence=Confidence.LOW if _may_be_of_operator(case, rows) else Confidence.MEDIUM,
        verdict=f"{names} {'is' if len(rows) == 1 else 'are'} no longer in Git, but not pruned: {why}"
        f"{_alternative(case, rows)}",
        evidence=tuple(_evidence(case, rows)),
        fixes=(
            *((keep, check) if any(_helm_keeps(case, row) for _, row in rows) else (check, keep)),
            Fix.run(
                with_comment(
                    f"git log --oneline -G {quote(named(rows[0][1].name))}",
                    "which commit removed it? Look before you revert: git show COMMIT",
                ),
                "git revert COMMIT && git push",
                refresh(case),
                title="It was removed by mistake: add it to Git again",
            ),
            *_other_tracking(case, rows),
            _delete(case, rows, selection, forbidden=forbidden),
        ),
    )


def _delete(case: Case, rows: list[tuple[int, ResourceRow]], selection: str, *, forbidden: bool) -> Fix:
    """With `Prune=false`, no sync deletes it."""
    them = "it" if len(rows) == 1 else "them"
    lost = tuple(_loss(case, row) for _, row in rows)
    if forbidden:
        return Fix.run(
            *(on_object("delete", row.ref) for _, row in rows[:10]),
            title=f"If that was on purpose: delete {them} manually, because no sync prunes {them}",
            risk="somebody set Prune=false to keep it: ask first",
            destroys=lost,
        )
    return Fix.run(
        sync(case, "--prune", "--dry-run", selection),
        sync(case, "--prune", selection),
        title=f"If that was on purpose: prune {them} after a dry run",
        risk="pruning deletes the object; a rename in Git is a prune and a create",
        destroys=lost,
    )


def _check_first(rows: list[tuple[int, ResourceRow]], *, may_be_created: bool) -> Fix:
    """The facts do not show whether it was removed on purpose, and the other fixes contradict each other."""
    row = rows[0][1]
    log = f"git log --oneline -G {quote(named(row.name))}"
    show = on_object("get", row.ref, "-o", "yaml")
    never = (
        "; no commit: a chart or generator renders the name, or it was never in Git" if may_be_created else ""
    )
    return Fix.run(
        with_comment(log, f"the commit that removed {row.kind} {row.name}{never}"),
        *((with_comment(show, "its labels and owner: who created it?"),) if may_be_created else ()),
        title=f"Check first: {'was it' if len(rows) == 1 else 'were they'} removed from Git on purpose?",
    )


def _alternative(case: Case, rows: list[tuple[int, ResourceRow]]) -> str:
    """The other explanation, if nothing shows that Argo CD applied the objects."""
    if _may_be_of_another_argocd(case, rows):
        them = "it" if len(rows) == 1 else "them"
        return (
            f"; or another Argo CD has an app {case.app.name} that deploys {them}: this one was never synced"
        )
    objects = [case.live_of(row.key) for _, row in rows]
    if not case.may_track_by_label or all(live is not None and was_applied(live) for live in objects):
        return ""
    if len(rows) == 1:
        return "; or it was never in Git: a controller that copies tracking labels created it"
    return "; or they were never in Git: a controller that copies tracking labels created them"


def _may_be_of_another_argocd(case: Case, rows: list[tuple[int, ResourceRow]]) -> bool:
    """Only an Argo CD writes tracking ids that name their own objects, and this app was never synced."""
    if case.app.status.history or case.operation is not None:
        return False
    objects = [case.live_of(row.key) for _, row in rows]
    ids = [TrackingId.parse(text(live.annotations.get(TRACKING_ID))) if live else None for live in objects]
    return all(id and live and id.describes(live.body) for id, live in zip(ids, objects, strict=True))


def _other_tracking(case: Case, rows: list[tuple[int, ResourceRow]]) -> Iterator[Fix]:
    """A tracking id names its object, so a copy of it does not make another object part of the app."""
    if not _alternative(case, rows):
        return
    if _may_be_of_another_argocd(case, rows):
        same_name = f"metadata.name={case.app.name}"
        yield Fix.run(
            with_comment(
                kubectl("get", "applications.argoproj.io", "-A", "--field-selector", same_name),
                "in each cluster with an Argo CD: is there another app of this name?",
            ),
            comment("then rename one of the apps, or set another installationID in the argocd-cm of each"),
            title="If another Argo CD has an app of the same name: tell the two apart",
            risk="a renamed app is a new one: delete the old one without cascade",
        )
        return
    show = on_object("get", rows[0][1].ref, "-o", "yaml")
    yield annotation_tracking(
        case,
        before=(with_comment(show, "its labels and owner: who created it?"),),
        title="If a controller copied the tracking label: track by annotation",
    )


def _helm_keeps(case: Case, row: ResourceRow) -> bool:
    """Does its chart ask to keep it? Mirrors `shouldBeDeleted`, Argo CD 3.6, which a prune does not ask."""
    live = case.live_of(row.key)
    return live is not None and live.at(_HELM_POLICY) == "keep"


def _may_be_of_operator(case: Case, rows: list[tuple[int, ResourceRow]]) -> bool:
    """Other objects that require pruning were created by a program: these may have the same creator."""
    others = (row for row in case.app.status.resources if SymptomId.extra(row.key) in case.symptom_ids)
    created = any(creator_of(case, row) is not None for row in others)
    objects = [case.live_of(row.key) for _, row in rows]
    return created and not any(live is not None and was_applied(live) for live in objects)


def _is_extra(case: Case, row: ResourceRow) -> bool:
    extra = needs_pruning(case, row) and row.status == "OutOfSync" and not _being_pruned(case)
    if not extra or creator_of(case, row) is not None:
        return False  # it was never in Git: created_by_another_controller
    live = case.live_of(row.key)
    # prune_needs_confirmation and the rules on finalizers explain these
    return live is None or not (_is_protected(case, live) or _is_terminating(live))


def _is_protected(case: Case, live: Manifest) -> bool:
    return has_option(live, "Prune=false") or case.has_sync_option("Prune=false")


def _is_forbidden(case: Case, row: ResourceRow) -> bool:
    """Has the last sync reported that its own option keeps it from being pruned?"""
    return any(
        isinstance(failure, PruneSkipped) and failure.forbidden
        for result in case.results
        if result.key == row.key and result.message
        for failure in understand(result.message).failures
    )


def _is_terminating(live: Manifest) -> bool:
    return bool(live.meta.get("deletionTimestamp") and live.meta.get("finalizers"))


def _being_pruned(case: Case) -> bool:
    operation = case.operation
    return (
        operation is not None
        and operation.phase == "Running"
        and bool(operation.operation.sync and operation.operation.sync.prune)
    )


def _why(case: Case, rows: list[tuple[int, ResourceRow]], *, forbidden: bool) -> str:
    if forbidden:
        return "sync option Prune=false keeps it" if len(rows) == 1 else "sync option Prune=false keeps them"
    if case.is_automated:
        return "automatic pruning has not run yet" if case.prunes else "automatic pruning is off"
    return "nobody has synced with --prune"


def _evidence(case: Case, rows: list[tuple[int, ResourceRow]]) -> Iterator[Evidence]:
    for index, _ in rows[:5]:
        yield cite(case.application, f"/status/resources/{index}", says="requires pruning")
    for _, row in rows[:5]:
        yield from cite_if(
            case.live_of(row.key),
            _HELM_POLICY,
            says="Argo CD reads it only when the app is deleted: a prune ignores it",
            when=_helm_keeps(case, row),
        )
    for report in case.failures(PruneSkipped)[:1]:
        yield report.cite(says="the last sync did not delete it")
    yield from cite_if(case.application, "/spec/syncPolicy/automated", says="auto-sync")


def _loss(case: Case, row: ResourceRow) -> str:
    lost = deletion_cost(case, row.ref)
    return f"{row.ref}: {lost}" if lost else str(row.ref)
