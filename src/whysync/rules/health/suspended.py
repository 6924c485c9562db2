"""A resource is suspended or paused.

## What happens
A paused Deployment, a Rollout at a pause step, a suspended Job or a paused ScaledObject reports Suspended.
It is not broken: a user, or its own strategy, stopped it. A sync that waits for its wave waits for it too,
and changes that are synced to a paused Deployment are stored but not rolled out. (A suspended CronJob is
Healthy.)

## How whysync knows
Argo CD reports the health Suspended; a field of the object shows what was set, and its managedFields who set
it.

## Fix
If the pause is no longer needed: promote, resume or unsuspend it. If Git declares the pause, change Git.

## When it is something else
Progressing means that work is in progress; Degraded means a failure.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Missing, integer
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import WriterKind, writer_of
from whysync.queries.commands import sync

SWITCHES = ("/spec/paused", "/spec/suspend", "/status/pauseConditions", "/status/phase")
IN_GIT = ("/spec/paused", "/spec/suspend")
_HELD_BACK = {
    "Deployment": "changes synced during the pause are rolled out now: its Pods are replaced",
    "Job": "the Job runs now",
    "ScaledObject": "the autoscaler changes the number of Pods again",
}
RESUME = {
    ("argoproj.io", "Rollout"): "kubectl argo rollouts -n {namespace} promote {name}",
    ("apps", "Deployment"): "kubectl -n {namespace} rollout resume deployment {name}",
    (
        "batch",
        "Job",
    ): 'kubectl -n {namespace} patch job {name} --type merge -p \'{{"spec":{{"suspend":false}}}}\'',
    ("keda.sh", "ScaledObject"): (
        "kubectl -n {namespace} annotate scaledobject {name} autoscaling.keda.sh/paused- "
        "autoscaling.keda.sh/paused-replicas-"
    ),
}


@rule(cause="suspended", since="0.1")
def suspended(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        code, message = health_of_row(case, row)
        symptom = SymptomId.unhealthy(row.key)
        if code != "Suspended" or symptom not in case.symptom_ids:
            continue
        live, declared = case.live_of(row.key), case.desired_of(row.key)
        pointer, declared_pointer = _switch(live), _switch(declared)
        writer = writer_of(live.body, pointer) if live is not None and pointer else None
        by_argocd = writer is not None and writer.kind is WriterKind.ARGOCD
        removed_from_git = by_argocd and declared is not None and not declared_pointer
        blocked = (OPERATION,) if _blocks_sync(case, row.name) else ()
        not_rolled_out = _not_rolled_out(live) if live is not None else None
        yield Finding(
            about=case.application.ref if removed_from_git else row.ref,
            field=pointer or None,
            explains=(symptom, *blocked),
            # a pause in Git is intended
            severity=Severity.WARNING
            if blocked or (not_rolled_out is not None and not declared_pointer)
            else Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} is suspended"
            + (f": {message}" if message else "")
            + ("; changes synced since then are not rolled out" if not_rolled_out is not None else "")
            + ("; Git no longer declares the pause" if removed_from_git else ""),
            writer=None if by_argocd else writer,
            evidence=(
                case.cited_row(row, says="Argo CD reports it as Suspended"),
                *_switches(live),
                *((not_rolled_out,) if not_rolled_out is not None else ()),
            ),
            fixes=tuple(_fixes(case, row, declared_pointer, removed_from_git=removed_from_git)),
        )


def _switch(manifest: Manifest | None) -> str:
    """The field that suspends it; empty if there is none."""
    return next((pointer for pointer in IN_GIT if manifest is not None and manifest.at(pointer) is True), "")


def _fixes(case: Case, row: ResourceRow, declared_pointer: str, *, removed_from_git: bool) -> Iterator[Fix]:
    if removed_from_git:
        yield Fix.run(sync(case), title="Sync: Git no longer declares the pause")
        return
    if declared_pointer:
        yield Fix.remove(
            row.ref, declared_pointer, title="Remove the pause from Git, if it is no longer needed"
        )
        return
    command = RESUME.get((row.group, row.kind), "kubectl -n {namespace} get {kind} {name} -o yaml")
    command = command.format(
        namespace=quote(row.namespace or "default"), name=quote(row.name), kind=quote(row.kind.lower())
    )
    known = (row.group, row.kind) in RESUME
    rollout = (row.group, row.kind) == ("argoproj.io", "Rollout")
    get = f"kubectl argo rollouts -n {quote(row.namespace or 'default')} get rollout {quote(row.name)}"
    check = (get,) if rollout else ()
    yield Fix.run(
        *check,
        command,
        title=("Resume it, if the pause is no longer needed" if known else "Find the field that suspends it")
        if not rollout
        else "See which step it is at; a pause with a duration ends by itself, otherwise promote it",
        risk="the new version gets more traffic" if rollout else _HELD_BACK.get(row.kind, ""),
    )


def _not_rolled_out(live: Manifest) -> Evidence | None:
    """Evidence that a paused Deployment runs an older template than was synced."""
    if live.ref.kind != "Deployment" or live.at("/spec/paused") is not True or not live.status:
        return None
    if integer(live.status.get("updatedReplicas")) >= integer(live.spec.get("replicas"), 1):
        return None
    return cite(live, "/status", says="its Pods run an older version than was synced")


def _blocks_sync(case: Case, name: str) -> bool:
    operation = case.operation
    return operation is not None and operation.phase == "Running" and name in operation.message


def _switches(live: Manifest | None) -> Iterator[Evidence]:
    for pointer in SWITCHES if live is not None else ():
        if live is not None and not isinstance(live.at(pointer), Missing):
            yield cite(live, pointer, says="the field that suspends it")
