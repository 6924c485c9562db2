"""An ApplicationSet updates its Applications in steps, and a step does not finish.

## What happens
With `strategy.type: RollingSync` the ApplicationSet controller syncs the generated Applications group by
group. It starts the next step only when every Application of the current one is Healthy, and records how far
each is in `status.applicationStatus`: Waiting, Pending, Progressing, Healthy. The Applications of later steps
stay OutOfSync, because the controller turns their auto-sync off.

## How whysync knows
The ApplicationSet is a resource of this app, is not Healthy, and its `status.applicationStatus` has entries
that are not Healthy. The earliest step among them is the one that holds the rest.

## Fix
Get the named Application Healthy. If it already is, the record of the ApplicationSet is out of date: restart
the ApplicationSet controller, and upgrade Argo CD if it happens again.

## When it is something else
If the ApplicationSet has the condition `ErrorOccurred`, it cannot generate its Applications at all.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.application_set_rollout import RolloutEntry, synced_revision, unfinished
from whysync.queries.commands import argocd_namespace, on_object, with_comment

_SHORT = 8
_RESTART = "no ApplicationSet of this Argo CD is updated while its controller restarts"


@rule(cause="appset-error", since="0.1")
def application_set_rollout_unfinished(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = case.live_of(row.key) if row.kind == "ApplicationSet" else None
        entries = unfinished(live) if live is not None else ()
        if live is not None and entries and SymptomId.unhealthy(row.key) in case.symptom_ids:
            yield finding_of_rollout(case, row.ref, live, entries)


def finding_of_rollout(case: Case, ref: Ref, live: Manifest, entries: tuple[RolloutEntry, ...]) -> Finding:
    """The step of a rollout that is not finished; `entries` are its Applications that are not Healthy."""
    entry = entries[0]
    synced = synced_revision(case, entry.application)
    is_outdated = bool(synced) and bool(entry.target_revisions) and synced not in entry.target_revisions
    more = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
    waits = (
        f", because it waits for revision {entry.target_revisions[0][:_SHORT]}, and the last sync was to"
        f" {synced[:_SHORT]}"
        if is_outdated
        else ""
    )
    return Finding(
        about=ref,
        explains=(SymptomId.unhealthy(ref.key),),
        confidence=Confidence.HIGH if is_outdated else Confidence.MEDIUM,
        verdict=f"{ref} does not finish step {entry.step} of its rollout: Application"
        f" {entry.application}{more} is {entry.status} there{waits}",
        root=entry.message or None,
        evidence=tuple(cite(live, entry.pointer, says="not Healthy in this step") for entry in entries[:3]),
        fixes=(_fix(case, ref, entry, is_outdated=is_outdated),),
    )


def _fix(case: Case, ref: Ref, entry: RolloutEntry, *, is_outdated: bool) -> Fix:
    namespace = argocd_namespace(case)
    record = with_comment(on_object("get", ref, "-o", "yaml"), "status.applicationStatus")
    restart = f"kubectl -n {namespace} rollout restart deployment/argocd-applicationset-controller"
    if is_outdated:
        return Fix.run(
            record,
            restart,
            title="Restart the ApplicationSet controller, which compares again; if the record stays, upgrade"
            " Argo CD",
            risk=_RESTART,
        )
    return Fix.run(
        f"argocd app get {entry.application}",
        record,
        with_comment(restart, "only if the Application is Synced and Healthy already"),
        title=f"Get Application {entry.application} Synced and Healthy; the next step then starts",
        risk=_RESTART,
    )
