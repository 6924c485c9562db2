"""A resource is suspended or paused.

## What happens
A paused Deployment, a Rollout at a pause step, a suspended Job or a paused ScaledObject reports Suspended.
It is not broken: a user, or its own strategy, stopped it. A sync that waits for its wave waits for it too,
and changes that are synced to a paused Deployment are stored but not rolled out. (A suspended CronJob is
Healthy.)

## How whysync knows
Argo CD reports the health Suspended; a field of the object shows what was set, and its managedFields who set
it. Or the object is Progressing, and one of its conditions reports that it waits for an approval: an
operator's Subscription with `installPlanApproval: Manual`. Older releases report a suspended Job, or a
Rollout at a pause step, as Progressing: `spec.suspend` or `status.pauseConditions` shows the pause.

## Fix
If the pause is no longer needed: promote, resume or unsuspend it. If Git declares the pause, change Git.

## When it is something else
Progressing means that work is in progress; Degraded means a failure.
"""

import re
from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Missing, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import WriterKind, writer_of
from whysync.queries.commands import on_object, sync
from whysync.queries.waiting_on import SILENT

PAUSES = "/status/pauseConditions"
SWITCHES = ("/spec/paused", "/spec/suspend", PAUSES, "/status/phase")
IN_GIT = ("/spec/paused", "/spec/suspend")
_APPROVAL = re.compile(
    r"(?i)(?:requires?|needs?|awaiting|waiting ?for|pending|manual)[ -]?(?:manual[ -]?)?approval"
    r"|approval[ -]?(?:pending|required|needed)"
)
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
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        code, message = health_of_row(case, row)
        symptom = SymptomId.unhealthy(row.key)
        if code == "Progressing":
            yield from _awaiting_approval(case, row)
        live, declared = case.live_of(row.key), case.desired_of(row.key)
        paused = code == "Progressing" and live is not None and _is_paused(live)
        if code != "Suspended" and not paused:
            continue
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
            + (f": {message}" if message and message != f"{row.kind} suspended" else "")
            + ("; changes synced since then are not rolled out" if not_rolled_out is not None else "")
            + ("; Git no longer declares the pause" if removed_from_git else ""),
            writer=None if by_argocd else writer,
            evidence=(
                # without a health in the row, the field that stops it is the evidence
                *(() if row.health is None and any(_switches(live)) else (case.cited_health(row, code),)),
                *_switches(live),
                *((not_rolled_out,) if not_rolled_out is not None else ()),
            ),
            fixes=tuple(_fixes(case, row, declared_pointer, removed_from_git=removed_from_git)),
        )


def _is_paused(live: Manifest) -> bool:
    """Older releases of Argo CD report a Rollout at a pause step and a suspended Job as Progressing."""
    is_suspended_job = live.ref.kind == "Job" and live.at("/spec/suspend") is True
    return is_suspended_job or bool(items(live.at(PAUSES)))


def _awaiting_approval(case: Case, row: ResourceRow) -> Iterator[Finding]:
    """Its controller has prepared the next step and does not start it before someone approves it."""
    live = case.live_of(row.key)
    for index, raw in enumerate(items(live.status.get("conditions")) if live is not None else ()):
        condition = fields(raw)
        words = f"{text(condition.get('type'))} {text(condition.get('reason'))}"
        if live is None or condition.get("status") != "True" or not _APPROVAL.search(words):
            continue
        yield Finding(
            about=row.ref,
            field=f"/status/conditions/{index}",
            explains=(SymptomId.unhealthy(row.key),),
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} waits for a manual approval ({text(condition.get('reason'))}),"
            " and is Progressing until then",
            evidence=(
                case.cited_health(row, "Progressing"),
                cite(live, f"/status/conditions/{index}", says="it waits for an approval"),
            ),
            fixes=tuple(_approvals(row)),
        )
        return


def _approvals(row: ResourceRow) -> Iterator[Fix]:
    if row.group == "operators.coreos.com":
        namespace = quote(row.namespace or "default")
        approved = '\'{"spec":{"approved":true}}\''
        yield Fix.run(
            f"kubectl -n {namespace} get installplans",
            f"kubectl -n {namespace} patch installplan NAME --type merge -p {approved}",
            title="Approve the install plan, if its versions are the ones you want",
            risk="installs or upgrades the operator, which then upgrades what it manages",
        )
        return
    yield Fix.run(
        on_object("describe", row.ref),
        title="Read what it asks for, and approve it with the tool of its controller",
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
    if operation is None or operation.phase != "Running":
        return False
    return name in operation.message or operation.message in SILENT


def _switches(live: Manifest | None) -> Iterator[Evidence]:
    for pointer in SWITCHES if live is not None else ():
        if live is not None and not isinstance(live.at(pointer), Missing):
            yield cite(live, pointer, says="the field that suspends it")
