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
Rollout at a pause step, as Progressing: `spec.suspend` or `status.pauseConditions` shows the pause. An object
of an operator (a virtual machine, a database) that its spec turns off and whose status reports that it is off
is Progressing or Degraded if its health check knows only the running state.

## Fix
If the pause is no longer needed: promote, resume or unsuspend it. If Git declares the pause, change Git.

## When it is something else
Progressing means that work is in progress; Degraded means a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Json, Missing, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import Writer, WriterKind, writer_of
from whysync.queries.commands import comment, on_object, sync
from whysync.queries.waiting_on import SILENT, wait_of

PAUSES = "/status/pauseConditions"
SWITCHES = ("/spec/paused", "/spec/suspend", PAUSES, "/status/phase")
IN_GIT = ("/spec/paused", "/spec/suspend")
# Where operators sum up the state of an object, and the words for one that is off.
_STATES = ("printableStatus", "phase", "state", "status")
_STOPPED = frozenset(
    {
        "stopped",
        "halted",
        "paused",
        "suspended",
        "hibernated",
        "shutdown",
        "sleeping",
        "idle",
        "off",
        "disabled",
    }
)
# Fields with which specs turn an object off, and their values for that. `Manual` leaves it to a person.
_OFF = (
    ("/spec/runStrategy", ("halted", "manual")),
    ("/spec/running", ("false",)),
    ("/spec/suspend", ("true",)),
    ("/spec/suspended", ("true",)),
    ("/spec/pause", ("true",)),
    ("/spec/paused", ("true",)),
    ("/spec/stop", ("true", "yes")),
    ("/spec/stopped", ("true",)),
    ("/spec/shutdown", ("true",)),
    ("/spec/enabled", ("false",)),
    ("/spec/replicas", ("0",)),
    ("/spec/size", ("0",)),
    ("/spec/desiredState", ("stopped", "off", "paused", "suspended")),
    ("/spec/state", ("stopped", "off", "paused", "suspended")),
    ("/metadata/annotations/cnpg.io~1hibernation", ("on",)),
)
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
        if code in ("Progressing", "Degraded"):
            yield from _stopped(case, row, code)
        live, declared = case.live_of(row.key), case.desired_of(row.key)
        paused = code == "Progressing" and live is not None and _is_paused(live)
        if code != "Suspended" and not paused:
            continue
        pointer, declared_pointer = _switch(live), _switch(declared)
        writer = writer_of(live.body, pointer) if live is not None and pointer else None
        by_argocd = writer is not None and writer.kind is WriterKind.ARGOCD
        removed_from_git = by_argocd and declared is not None and not declared_pointer
        blocked = (OPERATION,) if _blocks_sync(case, row) else ()
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


def _stopped(case: Case, row: ResourceRow, code: str) -> Iterator[Finding]:
    """It is off because its spec says so, and the health check knows only the running state as Healthy."""
    live = case.live_of(row.key)
    if live is None or _is_paused(live):
        return
    state = next((name for name in _STATES if text(live.status.get(name)).lower() in _STOPPED), "")
    switch = next((pointer for pointer, off in _OFF if _word(live.at(pointer)) in off), "")
    if not state or not switch:
        return
    value = text(live.at(switch)) or _word(live.at(switch))
    yield Finding(
        about=row.ref,
        field=switch,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is {text(live.status.get(state))}, as {switch} ({value}) allows, and Argo CD"
        f" reports that as {code}",
        writer=_other_writer(live, switch),
        evidence=(
            case.cited_health(row, code),
            cite(live, switch, says="the field that stops it"),
            cite(live, f"/status/{state}", says="its state"),
        ),
        fixes=(
            Fix.run(
                comment(
                    f"if it should run, change {switch} in Git or start it with the tool of its operator"
                ),
                on_object("describe", row.ref),
                title="Start it, if it should run",
            ),
            Fix.run(
                comment(f"let resource.customizations.health.{row.group}_{row.kind} in argocd-cm answer"),
                comment("Suspended for that state, and test it with"),
                "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                title="If it is meant to be off: let the health check report that state as Suspended",
                risk="a health check applies to all objects of the kind",
            ),
        ),
    )


def _other_writer(live: Manifest, pointer: str) -> Writer | None:
    writer = writer_of(live.body, pointer)
    return None if writer is None or writer.kind is WriterKind.ARGOCD else writer


def _word(value: Json | Missing) -> str:
    """A switch as text: operators use booleans, words and numbers."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).lower() if isinstance(value, str | int) else ""


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


def _blocks_sync(case: Case, row: ResourceRow) -> bool:
    operation = case.operation
    if operation is None or operation.phase != "Running":
        return False
    wait = wait_of(case)
    is_awaited = wait is not None and wait.ref.key == row.key
    return is_awaited or row.name in operation.message or operation.message in SILENT


def _switches(live: Manifest | None) -> Iterator[Evidence]:
    for pointer in SWITCHES if live is not None else ():
        if live is not None and not isinstance(live.at(pointer), Missing):
            yield cite(live, pointer, says="the field that suspends it")
