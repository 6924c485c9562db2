"""How pods were seen to behave, as parts that the model's kubelet plays.

A part is for the same template only: what a new image, or another template, does nobody knows yet. It is
taken to run, and that is said as a gap where an answer hangs on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Literal

from whysync.argocd.api.application import ResourceResult
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.controllers.behavior import Behavior, LogLine, Metric, PodBehavior

_TEMPLATE_LABELS: Final = ("pod-template-hash", "controller-revision-hash")
_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_PULLS: Final = frozenset({"ImagePullBackOff", "ErrImagePull"})
_DENIALS: Final = ("unauthorized", "denied", "forbidden", "authentication required", "no basic auth")
_OUT_OF_REACH: Final = ("refused", "no such host", "timeout", "timed out", "unreachable", "could not resolve")
_MOST_LINES: Final = 20
_FOREVER: Final = 1e9
_PATIENCE: Final = 600.0
"""A Job that runs for longer than this is taken to run on."""
_LATE: Final = "longer than specified deadline"
_WITH_ITS_SYNC: Final = "Terminated"
_SOMEWHAT_LONGER: Final = 1.5
"""How much longer than it was given a Job is taken to need; how long in truth nobody has seen."""
_SOON: Final = 120.0
"""A container that was not ready for as long is taken not to become it by itself."""


def behavior_of(case: Case, live: Iterable[Object], desired: Iterable[Manifest]) -> Behavior:
    objects = list(live)
    parts = [part for obj in objects if obj.get("kind") == "Pod" for part in _Seen(case, obj).parts()]
    parts += _failed_hooks(case, desired)
    services = [obj for obj in objects if obj.get("kind") == "Service"]
    pending = any(
        dig(service, "spec", "type") == "LoadBalancer"
        and not items(dig(service, "status", "loadBalancer", "ingress"))
        for service in services
    )
    unbound = any(
        obj.get("kind") == "PersistentVolumeClaim" and dig(obj, "status", "phase") == "Pending"
        for obj in objects
    )
    return Behavior(
        pods=_once(parts),
        load_balancers="pending" if pending else "ok",
        volumes="pending" if unbound else "ok",
        metrics=tuple(_metrics(case, [*objects, *_new_autoscalers(case, desired)])),
        # What a quota counts, and whose rules a role gathers, lies mostly outside of what was loaded: the
        # numbers stay as they were seen, and rules that come back are played by who wrote them.
        stopped=frozenset({"resourcequota", "clusterrole-aggregation"}),
    )


def _metrics(case: Case, objects: Iterable[Object]) -> Iterator[Metric]:
    """The metrics of autoscalers ask for what the autoscaler gave last: its present number."""
    for obj in objects:
        if obj.get("kind") != "HorizontalPodAutoscaler":
            continue
        namespace = text(dig(obj, "metadata", "namespace"))
        name = text(dig(obj, "metadata", "name"))
        number = integer(dig(obj, "status", "desiredReplicas")) or integer(
            dig(obj, "status", "currentReplicas")
        )
        if not number:
            target = fields(dig(obj, "spec", "scaleTargetRef"))
            found = case.live_named(text(target.get("kind")), namespace, text(target.get("name")))
            number = integer(found.spec.get("replicas"), 1) if found is not None else 0
            if not number and "status" not in obj:
                number = integer(dig(obj, "spec", "minReplicas"), 1)
        if number:
            yield Metric(namespace=namespace, name=name, replicas=number)


def _new_autoscalers(case: Case, desired: Iterable[Manifest]) -> Iterator[Object]:
    """Those that a sync is to bring: what they will ask for nobody knows, so they are content."""
    for desired_object in desired:
        if desired_object.ref.kind == "HorizontalPodAutoscaler" and case.live_of(desired_object.key) is None:
            namespace = desired_object.ref.namespace or case.destination_namespace
            yield {
                **desired_object.body,
                "metadata": {"name": desired_object.ref.name, "namespace": namespace},
            }


def begun_again(pod: Object, now: datetime) -> Object:
    """A pod that started a moment ago and is not ready yet, with its containers about to start.

    The model cannot tell when a container that it did not start itself becomes ready.
    """
    if dig(pod, "status", "phase") != "Running":
        return pod
    statuses = [
        fields(container_status) for container_status in items(dig(pod, "status", "containerStatuses"))
    ]
    young = [
        status.get("ready") is False
        and "running" in fields(status.get("state"))
        and _seconds_since(text(dig(status, "state", "running", "startedAt")), now) <= _SOON
        for status in statuses
    ]
    if not any(young):
        return pod
    waits: Object = {"waiting": {"reason": "ContainerCreating"}}
    new: list[Json] = [
        {**one, "state": waits, "started": False} if again else one
        for one, again in zip(statuses, young, strict=True)
    ]
    status: Object = {**fields(pod.get("status")), "phase": "Pending", "containerStatuses": new}
    return {**pod, "status": status}


def _seconds_since(told: str, now: datetime) -> float:
    try:
        since = datetime.fromisoformat(told)
    except ValueError:
        return 0
    return (now - (since if since.tzinfo else since.replace(tzinfo=UTC))).total_seconds()


class _Seen:
    """One live pod, and what its containers did."""

    def __init__(self, case: Case, pod: Object) -> None:
        self._case = case
        self._pod = pod
        self._namespace = text(dig(pod, "metadata", "namespace"))
        self._name = text(dig(pod, "metadata", "name"))
        self._labels = _labels_of_template(fields(dig(pod, "metadata", "labels")))
        owners = [
            fields(owner_reference) for owner_reference in items(dig(pod, "metadata", "ownerReferences"))
        ]
        self._job = next((text(owner.get("name")) for owner in owners if owner.get("kind") == "Job"), "")
        self._images = {
            text(dig(one, "name")): text(dig(one, "image"))
            for group in ("initContainers", "containers")
            for one in items(dig(pod, "spec", group))
        }

    def parts(self) -> Iterator[PodBehavior]:
        why = _unschedulable(self._pod)
        if why:
            yield self._part("*", "*", unschedulable=why)
        for group in ("initContainerStatuses", "containerStatuses"):
            for raw in items(dig(self._pod, "status", group)):
                status = fields(raw)
                part = self._of_container(text(status.get("name")), status)
                if part is not None:
                    yield part

    def _of_container(self, name: str, status: Object) -> PodBehavior | None:
        state = fields(status.get("state"))
        waiting = fields(state.get("waiting"))
        image = self._images.get(name) or text(status.get("image")) or "*"
        if text(waiting.get("reason")) in _PULLS:
            told = text(waiting.get("message")).lower()
            pull: Literal["missing", "denied"] = (
                "denied" if any(word in told for word in _DENIALS) else "missing"
            )
            return self._part(name, image, pull=pull)
        if "runAsNonRoot and image" in text(waiting.get("message")):
            return replace(self._part(name, image), image_user="0")
        ended = fields(state.get("terminated")) or fields(dig(status, "lastState", "terminated"))
        code = integer(ended.get("exitCode"))
        crashes = waiting.get("reason") == "CrashLoopBackOff" or "terminated" in state
        calls = self._unanswered(name)
        if calls and ((ended and code and crashes) or ("running" in state and self._job)):
            return self._part(name, image, calls=calls, on_no_answer="exit" if crashes else "wait")
        if ended and code and crashes:
            log = tuple(LogLine(text=line) for line in self._last_lines(name))
            return self._part(
                name, image, runs_seconds=2, exit_code=code, reason=_told_reason(ended), log=log
            )
        running = fields(state.get("running"))
        if "running" in state and self._age(running) > (_PATIENCE if self._job else _SOON):
            if self._job:
                return self._part(name, image, runs_seconds=_FOREVER)
            if status.get("ready") is False:
                return self._part(name, image, ready_seconds=None)
        return None

    def _part(
        self,
        container: str,
        image: str,
        *,
        pull: Literal["", "missing", "denied"] = "",
        ready_seconds: float | None = 1,
        runs_seconds: float | None = None,
        exit_code: int = 0,
        reason: str = "",
        log: tuple[LogLine, ...] = (),
        unschedulable: str = "",
        calls: tuple[str, ...] = (),
        on_no_answer: Literal["exit", "wait"] = "exit",
    ) -> PodBehavior:
        return PodBehavior(
            namespace=self._namespace,
            name="*" if self._labels else (f"{self._job}-*" if self._job else self._name),
            labels=self._labels,
            image=_literal(image),
            container=container,
            pull=pull,
            ready_seconds=ready_seconds,
            runs_seconds=runs_seconds,
            exit_code=exit_code,
            reason=reason,
            log=log,
            unschedulable=unschedulable,
            calls=calls,
            on_no_answer=on_no_answer,
        )

    def _unanswered(self, container: str) -> tuple[str, ...]:
        """A Service of this app that the end of its log cannot reach, and that is not there."""
        for line in reversed(self._last_lines(container)[-3:]):
            if not any(word in line.lower() for word in _OUT_OF_REACH):
                continue
            words = "".join(char if char.isalnum() or char in "-." else " " for char in line).split()
            hosts = {word.partition(".")[0] for word in words}
            for desired_object in self._case.desired:
                absent = (
                    desired_object.ref.kind == "Service" and self._case.live_of(desired_object.key) is None
                )
                if absent and desired_object.ref.name in hosts:
                    return (desired_object.ref.name,)
        return ()

    def _last_lines(self, container: str) -> tuple[str, ...]:
        logs = self._case.index.logs_by_pod.get((self._namespace, self._name), ())
        return _tail(logs, container)

    def _age(self, running: Object) -> float:
        told = text(running.get("startedAt")) or text(dig(self._pod, "status", "startTime"))
        return _seconds_since(told, self._case.now)


def _once(parts: Iterable[PodBehavior]) -> tuple[PodBehavior, ...]:
    """Pods of one template behave alike: one part for all of them."""
    found: dict[tuple[str, ...], PodBehavior] = {}
    for part in parts:
        labels = (text for pair in sorted(part.labels.items()) for text in pair)
        found.setdefault(
            (part.namespace, part.name, part.image, part.container, part.unschedulable, *labels), part
        )
    return tuple(found.values())


def _labels_of_template(labels: Object) -> dict[str, str]:
    for name in (*_TEMPLATE_LABELS, *_JOB_LABELS):
        if isinstance(labels.get(name), str):
            return {name: text(labels[name])}
    return {}


def _unschedulable(pod: Object) -> str:
    """In the scheduler's words; what objects lack the model finds by itself."""
    if dig(pod, "status", "phase") != "Pending" or dig(pod, "spec", "nodeName"):
        return ""
    for condition in items(dig(pod, "status", "conditions")):
        if dig(condition, "type") == "PodScheduled" and dig(condition, "status") == "False":
            told = text(dig(condition, "message"))
            return "" if "persistentvolumeclaim" in told.lower() else told
    return ""


def _failed_hooks(case: Case, desired: Iterable[Manifest]) -> Iterator[PodBehavior]:
    """Hooks that failed and whose pods are gone: the same hook fails again.

    One that the API server refused (`SyncFailed`) never ran.
    """
    failed: dict[str, ResourceResult] = {
        result.name: result
        for result in case.results
        if result.hook_type
        and result.kind == "Job"
        and result.hook_phase in ("Failed", "Error")
        and result.status != "SyncFailed"
    }
    for manifest in desired:
        name = manifest.ref.name
        if manifest.ref.kind != "Job" or name not in failed or _is_another(case, manifest):
            continue
        namespace = manifest.ref.namespace or case.destination_namespace
        pods = [
            log for log in case.index.logs_by_namespace.get(namespace, ()) if log.pod.startswith(f"{name}-")
        ]
        cut_off = _cut_off_after(case, failed[name], manifest)
        for raw in items(dig(manifest.spec, "template", "spec", "containers")):
            container = fields(raw)
            yield PodBehavior(
                namespace=namespace,
                name=f"{name}-*",
                image=_literal(text(container.get("image"))),
                runs_seconds=2 if cut_off is None else cut_off * _SOMEWHAT_LONGER,
                exit_code=1 if cut_off is None else 0,
                log=tuple(LogLine(text=line) for line in _tail(pods, text(container.get("name")))),
            )


def _is_another(case: Case, manifest: Manifest) -> bool:
    """Has Git moved on since that sync began, to a Job that is not the one which failed?"""
    operation = case.operation
    at = operation.sync_result.revision if operation is not None and operation.sync_result is not None else ""
    if not at or at == case.app.status.sync.revision:
        return False
    ran = case.live_of(manifest.key)
    return ran is None or _images(ran) != _images(manifest)


def _images(job: Manifest) -> list[str]:
    return [
        text(dig(container, "image")) for container in items(dig(job.spec, "template", "spec", "containers"))
    ]


def was_cut_off(result: ResourceResult) -> bool:
    """A hook that was ended from outside, still at work: how long it needs nobody has seen."""
    return bool(result.hook_type) and (_LATE in result.message or result.message == _WITH_ITS_SYNC)


def _cut_off_after(case: Case, result: ResourceResult, job: Manifest) -> float | None:
    """How long it ran when it was ended from outside, still at work: by its deadline, or with its sync."""
    if _LATE in result.message:
        ran = case.live_of(job.key) or job  # Git may give it another deadline by now
        return float(integer(ran.spec.get("activeDeadlineSeconds"))) or None
    operation = case.operation
    if result.message != _WITH_ITS_SYNC or operation is None:
        return None
    if operation.started_at is None or operation.finished_at is None:
        return None
    return (operation.finished_at - operation.started_at).total_seconds()


def _tail(logs: Iterable[Log], container: str) -> tuple[str, ...]:
    own = sorted((log for log in logs if log.container == container), key=lambda log: not log.previous)
    return own[0].lines[-_MOST_LINES:] if own else ()


def _told_reason(ended: Object) -> str:
    reason = text(ended.get("reason"))
    return reason if reason not in ("Error", "Completed") else ""


def _literal(image: str) -> str:
    """An image as a pattern that fits itself alone."""
    return image.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]") if image != "*" else image
