"""Why a sync that waits for an object will not continue by itself: what the object and its Pods report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd import hooks
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Fact
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import Awaited
from whysync.messages.patterns.pods import ImagePull, VolumePending
from whysync.queries.commands import (
    app_argument,
    comment,
    kubectl,
    on_object,
    refresh,
    sync,
    terminate,
    with_comment,
)
from whysync.queries.images import pull_remedy, registry_reason
from whysync.queries.sidecars import RunningSidecar, fixes_without_sidecar, sidecar_of_finished_job
from whysync.queries.timestamps import age_at
from whysync.queries.unschedulable import missing_node_label, why_unschedulable
from whysync.queries.waiting_on import AwaitedObject, result_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# The controller reacts to events, and compares again after three minutes at the latest.
_RESYNC = timedelta(minutes=3)
_GRACE = timedelta(minutes=2)
HOOK_FINALIZER = "argocd.argoproj.io/hook-finalizer"


_WITHOUT_TTL = "Remove ttlSecondsAfterFinished from the hook in Git"


class StuckWait(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` completes "waits for X: …"; `certain` if objects prove it, not only the elapsed time."""

    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    certain: bool = True
    succeeded: bool = False
    """It has completed and must not run again."""
    action: str = ""
    """What to change in Git, as the start of a fix title."""
    image: str = ""
    """The image that cannot be pulled."""
    label: str = ""
    """The label in the Pod's node selector that no node has."""
    may_be_gone: bool = False
    """It may have been deleted, so that the wait cannot end."""
    sidecar: RunningSidecar | None = None
    """The sidecar that keeps the Job from completing."""
    first_consumer: bool = False
    """It is a claim that is bound only when a Pod uses it (`WaitForFirstConsumer`)."""

    @property
    def because(self) -> str:
        """The reason at the end of a sentence; empty if none is known."""
        return f": {self.reason}" if self.reason else ""


_BACK_OFF = "CrashLoopBackOff"


def why_stuck(case: Case, wait: AwaitedObject) -> StuckWait | None:
    """`None` while the wait may still succeed."""
    live, declared = case.live_of(wait.ref.key), case.desired_of(wait.ref.key)
    row = case.rows.get(wait.ref.key)
    if wait.what is Awaited.HOOK:
        stuck = (
            _ended(case, wait, live)
            or _first_consumer(case, wait, live)
            or _was_deleted(case, wait, live, declared)
        )
        if stuck is not None:
            return stuck
    stuck = _cannot_start(case, wait) or _sidecar(case, wait)
    if stuck is not None:
        return stuck
    code, message = health_of_row(case, row) if row is not None else ("", "")
    if code in ("Degraded", "Suspended"):
        return StuckWait(reason=f"it is {code}" + (f": {message}" if message else ""))
    if wait.is_long and code and message:
        return StuckWait(reason=f"it is still {code}: {message}", certain=False)
    if wait.is_long:
        return StuckWait(certain=False)
    return None


def _ended(case: Case, wait: AwaitedObject, live: Manifest | None) -> StuckWait | None:
    """The Job has finished, and the operation has not noticed it within three minutes."""
    if live is None:
        return None
    ended = age_at(case, live, "/status/completionTime")
    since = ended if ended is not None else wait.age
    if since is not None and since < _RESYNC:
        return None
    for index, condition in enumerate(items(live.status.get("conditions"))):
        kind, status = text(fields(condition).get("type")), text(fields(condition).get("status"))
        if kind in ("Complete", "Failed") and status == "True":
            evidence = (cite(live, f"/status/conditions/{index}", says="it has finished"),)
            reason = "it has finished, but Argo CD has not noticed"
            return StuckWait(reason=reason, evidence=evidence, succeeded=kind == "Complete")
    return None


def _first_consumer(case: Case, wait: AwaitedObject, live: Manifest | None) -> StuckWait | None:
    """A claim that is bound only when a Pod uses it, while the sync waits for nothing else."""
    if wait.ref.kind != "PersistentVolumeClaim" or wait.others:
        return None
    if live is not None and live.at("/status/phase") == "Bound":
        return None
    reason = "it is bound only when a Pod uses it, and this sync creates that Pod only after the hook"
    for manifest, event in reversed(case.events_about(wait.ref)):
        if any(isinstance(f, VolumePending) and f.first_consumer for f in understand(event.says).failures):
            evidence = (cite(manifest, "/message", says="the event with the reason"),)
            return StuckWait(reason=reason, evidence=evidence, first_consumer=True)
    name = text(live.at("/spec/storageClassName")) if live is not None else ""
    for storage_class in case.live_of_kind("StorageClass"):
        mode = storage_class.body.get("volumeBindingMode")
        if storage_class.ref.name == name and mode == "WaitForFirstConsumer":
            evidence = (cite(storage_class, "/volumeBindingMode", says="binds on first use"),)
            return StuckWait(reason=reason, evidence=evidence, first_consumer=True)
    return None


def _was_deleted(
    case: Case, wait: AwaitedObject, live: Manifest | None, declared: Manifest | None
) -> StuckWait | None:
    """A Job with a short ttlSecondsAfterFinished can be deleted before Argo CD reads its result."""
    job = live or declared
    ttl = job.at("/spec/ttlSecondsAfterFinished") if job is not None else None
    if job is not None and isinstance(ttl, int):
        evidence = (
            cite(job, "/spec/ttlSecondsAfterFinished", says="deletes it this many seconds after it finishes"),
        )
        if live is None and case.has(Fact.LIVE):
            reason = f"it was deleted {ttl} s after it finished, before Argo CD read its result"
            return StuckWait(reason=reason, evidence=evidence, action=_WITHOUT_TTL)
        if live is None or (ttl < 60 and wait.is_long):
            reason = (
                f"Kubernetes deletes it {ttl} s after it finishes, possibly before Argo CD reads its result"
            )
            return StuckWait(
                reason=reason, evidence=evidence, action=_WITHOUT_TTL, certain=False, may_be_gone=True
            )
    other_jobs_are_live = any(
        key.kind == wait.ref.kind and key != wait.ref.key for key in case.index.live_by_key
    )
    if live is None and other_jobs_are_live and result_of(case, wait.ref) is not None:
        return StuckWait(reason="it no longer exists in the cluster")
    return None


def _sidecar(case: Case, wait: AwaitedObject) -> StuckWait | None:
    """Its work is done, but a sidecar keeps the Pod running."""
    sidecar = sidecar_of_finished_job(case, wait.ref) if wait.age is None or wait.age >= _RESYNC else None
    if sidecar is None:
        return None
    return StuckWait(
        reason=f"container {sidecar.finished} has succeeded, but sidecar {sidecar.name}"
        f" still runs and keeps it"
        " from completing",
        evidence=sidecar.evidence,
        certain=sidecar.injected,
        sidecar=sidecar,
    )


def _cannot_start(case: Case, wait: AwaitedObject) -> StuckWait | None:
    for history in case.pods_of(wait.ref):
        for container in history.failing:
            if container.waiting:
                pointer = f"{container.pointer}/state/waiting"
                detail = f": {container.waiting_message}" if container.waiting_message else ""
                evidence = (cite(history.pod, pointer, says="its Pod cannot start"),)
                pull_failures = [
                    failure
                    for failure in understand(container.waiting_message).failures
                    if isinstance(failure, ImagePull)
                ]
                if pull_failures:
                    return StuckWait(
                        reason=f"its Pod cannot pull {container.image}"
                        + registry_reason(pull_failures[0].reason, ""),
                        evidence=evidence,
                        action=pull_remedy(pull_failures[0].reason),
                        image=container.image,
                    )
                crashed = f"container {container.name} exits with code {container.exit_code}"
                if container.waiting == _BACK_OFF and container.exit_code is not None:
                    words = f": {container.last_words}" if container.last_words else ""
                    return StuckWait(reason=f"{crashed} each time{words}", evidence=evidence)
                return StuckWait(
                    reason=f"its Pod cannot start ({container.waiting}{detail})", evidence=evidence
                )
        for index, condition in enumerate(items(history.pod.status.get("conditions"))):
            pointer = f"/status/conditions/{index}"
            if text(fields(condition).get("reason")) == "Unschedulable" and not _is_new(
                case, history.pod, pointer
            ):
                evidence = (cite(history.pod, f"{pointer}/message", says="the scheduler's message"),)
                scheduler = text(fields(condition).get("message")).partition(" preemption: ")[0].rstrip(". ")
                why = why_unschedulable(case, history.pod) or one_line(scheduler)
                label = missing_node_label(case, history.pod)
                return StuckWait(
                    reason="its Pod is unschedulable" + (f": {why}" if why else ""),
                    evidence=evidence,
                    action="Remove the label from its node selector in Git"
                    if label
                    else "Add a node that fits, or reduce its requests in Git",
                    label=label,
                )
    for manifest, event in case.events_about(wait.ref):
        if event.type == "Warning" and event.reason in ("FailedCreate", "BackoffLimitExceeded"):
            return StuckWait(
                reason=event.says, evidence=(cite(manifest, "/message", says="the event with the reason"),)
            )
    return None


def _is_new(case: Case, pod: Manifest, condition: str) -> bool:
    """In its first minutes a Pod may wait for its volume, or for a node that an autoscaler adds."""
    age = age_at(case, pod, f"{condition}/lastTransitionTime")
    if age is None:
        age = age_at(case, pod, "/metadata/creationTimestamp")
    return age is not None and age < _GRACE


def _hook_annotation(case: Case, wait: AwaitedObject) -> str:
    """The annotation that makes the object a hook: Argo CD's own, or Helm's."""
    manifest = case.desired_of(wait.ref.key) or case.live_of(wait.ref.key)
    annotations = hooks.annotations_of(manifest.body) if manifest is not None else {}
    present = [key for key in (hooks.HOOK, hooks.HELM_HOOK) if key in annotations]
    return " and ".join(present) or f"{hooks.HOOK} (in a chart: {hooks.HELM_HOOK})"


def _bound_on_first_use(case: Case, wait: AwaitedObject) -> Iterator[Fix]:
    """Mirrors gitops-engine `getPVCHealth`, Argo CD 3.6: a Pending claim is Progressing, so a wave waits."""
    yield Fix.run(
        comment(f"in Git: remove {_hook_annotation(case, wait)} from {wait.ref}, and give it the sync-wave"),
        comment("of the workload that uses it: in any other wave, one waits for the other; commit and push"),
        terminate(case),
        sync(case),
        title="Make the claim an ordinary resource, in the same wave as the workload that uses it",
    )
    yield Fix.run(
        with_comment("kubectl get storageclass", "one with VOLUMEBINDINGMODE Immediate"),
        comment(f"in Git: set its name as storageClassName of {wait.ref}; commit and push"),
        terminate(case),
        with_comment(on_object("delete", wait.ref), "it was never bound, so it has no data"),
        sync(case),
        title="Or use a StorageClass that binds immediately, and recreate the claim",
        risk="the volume can be created in a zone where the Pod cannot run",
    )


# Kinds whose objects run to an end, so that they can be deleted and run again.
_RUNS_ONCE = frozenset({"Job", "Pod", "Workflow", "PipelineRun", "TaskRun", "AnalysisRun"})


def hook_fixes(case: Case, wait: AwaitedObject, stuck: StuckWait) -> Iterator[Fix]:
    """How to end the wait for a hook, and let it run again if it has to."""
    if stuck.succeeded:
        yield Fix.run(
            refresh(case),
            f"argocd app wait {app_argument(case)} --operation --timeout 120",
            title="Refresh: the hook has completed and does not have to run again",
        )
        yield Fix.run(
            terminate(case),
            sync(case),
            title="If the sync still waits: terminate the operation, then sync again",
            risk="the hook runs a second time: make sure that it may",
        )
        return
    if stuck.sidecar is not None:
        yield from fixes_without_sidecar(case, wait.ref, stuck.sidecar)
        return
    if stuck.first_consumer:
        yield from _bound_on_first_use(case, wait)
        return
    commands = [with_comment(on_object("describe", wait.ref), "its events show what it waits for")]
    if not stuck.certain and wait.ref.kind not in _RUNS_ONCE:
        # A claim that no Pod uses yet is Progressing, so that an earlier wave would wait for it, too.
        claim = wait.ref.kind == "PersistentVolumeClaim"
        yield Fix.run(
            *commands,
            comment(
                f"remove {_hook_annotation(case, wait)} from {wait.ref.kind} {wait.ref.name} in Git;"
                " commit and push"
            ),
            terminate(case),
            sync(case),
            title=f"A hook has to become healthy, and {wait.ref.kind} does not finish as a Job does: see what"
            " it reports, or make it an ordinary resource"
            + (" in the wave of the Pod that uses it" if claim else " of an earlier wave"),
        )
        return
    if not stuck.certain and wait.ref.kind in ("Job", "Pod"):
        commands.append(
            kubectl(
                "logs", f"{wait.ref.kind.lower()}/{wait.ref.name}", "--tail=50", namespace=wait.ref.namespace
            )
        )
    runs = not stuck.certain and not stuck.may_be_gone
    if runs:
        yield Fix.run(
            *commands,
            comment(
                "end what it waits for: a lock that another session holds, a service that does not answer"
            ),
            f"argocd app wait {app_argument(case)} --operation --timeout 600",
            title="Read in its log what it waits for and end that first: the hook and the sync then continue",
        )
        commands = []
    if stuck.image:
        commands = [
            with_comment(
                f"docker manifest inspect {quote(stuck.image)}", "does it exist, and can you read it?"
            )
        ]
    if stuck.label:
        commands = []
        yield Fix.run(
            with_comment("kubectl get nodes --show-labels", "choose the node"),
            f"kubectl label node NODE {quote(stuck.label)}",
            title=f"Label a node {stuck.label}: the hook then starts",
            risk="other Pods that select or avoid this label are then scheduled differently; a recreated node"
            " loses it, unless its node pool sets it",
        )
    first = f"{stuck.action}, then" if stuck.action else ""
    if not stuck.action and not stuck.certain and runs:
        first = "end what it waits for: otherwise the next run waits for it, too"
    yield Fix.run(
        *commands,
        *((comment(first),) if first else ()),
        terminate(case),
        on_object("delete", wait.ref, "--ignore-not-found"),
        sync(case),
        title=f"{stuck.action}; terminate the operation, then sync again"
        if stuck.action
        else f"Terminate the operation, correct this in Git ({stuck.reason}), then sync again"
        if stuck.certain
        else "Only if it cannot continue: terminate the operation, then sync again"
        if runs
        else "See whether it still exists; terminate the operation, then sync again",
        risk="what the hook has done so far is not undone; its Pods are deleted",
    )
