"""The observed behavior of pods, for the simulated kubelet to repeat.

A behavior applies to pods of the same template only. A new image or another template is assumed to run; that
is a gap if a result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Literal

from msgspec.structs import replace

from whysync.argocd.api.application import ResourceResult
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.controllers.behavior import Behavior, LogLine, Metric, PodBehavior
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import ContainerConfigInvalid, DeadlineExceeded, PullProblem, pull_problem
from whysync.queries.hook_runs import ended_with_its_sync

_TEMPLATE_LABELS: Final = ("pod-template-hash", "controller-revision-hash")
_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_PULL_FAILURES: Final = frozenset({"ImagePullBackOff", "ErrImagePull"})
_NETWORK_ERRORS: Final = (
    "refused",
    "no such host",
    "timeout",
    "timed out",
    "unreachable",
    "could not resolve",
)
_MAX_LOG_LINES: Final = 20
_FOREVER: Final = 1e9
_LONG_JOB: Final = 600.0
"""A Job that has run for longer than this is assumed never to finish."""
_EXTRA_TIME: Final = 1.5
"""An interrupted Job is assumed to need this multiple of the time it had."""
_STARTUP_TIME: Final = 120.0
"""A container that is not ready after this time is assumed not to become ready by itself."""


def behavior_of(case: Case, live: Iterable[Object], desired: Iterable[Manifest]) -> Behavior:
    objects = list(live)
    behaviors = [
        behavior
        for obj in objects
        if obj.get("kind") == "Pod"
        for behavior in _ObservedPod(case, obj).behaviors()
    ]
    behaviors += _failed_hooks(case, desired)
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
        pods=_deduplicated(behaviors),
        load_balancers="pending" if pending else "ok",
        volumes="pending" if unbound else "ok",
        metrics=tuple(_metrics(case, [*objects, *_new_autoscalers(case, desired)])),
        # Most objects that a quota counts or that an aggregated ClusterRole selects are out of scope: usage
        # stays as reported, and `other_writers` simulates rules that are written back.
        stopped=frozenset({"resourcequota", "clusterrole-aggregation"}),
    )


def _metrics(case: Case, objects: Iterable[Object]) -> Iterator[Metric]:
    """Metrics for which each autoscaler keeps its current number of replicas."""
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
            target_object = case.live_named(text(target.get("kind")), namespace, text(target.get("name")))
            number = integer(target_object.spec.get("replicas"), 1) if target_object is not None else 0
            if not number and "status" not in obj:
                number = integer(dig(obj, "spec", "minReplicas"), 1)
        if number:
            yield Metric(namespace=namespace, name=name, replicas=number)


def _new_autoscalers(case: Case, desired: Iterable[Manifest]) -> Iterator[Object]:
    """Autoscalers that a sync will create; they are assumed to keep the current number of replicas."""
    for desired_object in desired:
        if desired_object.ref.kind == "HorizontalPodAutoscaler" and case.live_of(desired_object.key) is None:
            namespace = desired_object.ref.namespace or case.destination_namespace
            yield {
                **desired_object.body,
                "metadata": {"name": desired_object.ref.name, "namespace": namespace},
            }


def with_restarted_containers(pod: Object, now: datetime) -> Object:
    """A pod that started recently and is not ready, with its containers about to start.

    The simulated kubelet decides only about containers that it started itself.
    """
    if dig(pod, "status", "phase") != "Running":
        return pod
    statuses = [
        fields(container_status) for container_status in items(dig(pod, "status", "containerStatuses"))
    ]
    recently_started = [
        status.get("ready") is False
        and "running" in fields(status.get("state"))
        and _seconds_since(text(dig(status, "state", "running", "startedAt")), now) <= _STARTUP_TIME
        for status in statuses
    ]
    if not any(recently_started):
        return pod
    waiting: Object = {"waiting": {"reason": "ContainerCreating"}}
    new: list[Json] = [
        {**status, "state": waiting, "started": False} if recent else status
        for status, recent in zip(statuses, recently_started, strict=True)
    ]
    status: Object = {**fields(pod.get("status")), "phase": "Pending", "containerStatuses": new}
    return {**pod, "status": status}


def _seconds_since(timestamp: str, now: datetime) -> float:
    try:
        since = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    return (now - (since if since.tzinfo else since.replace(tzinfo=UTC))).total_seconds()


class _ObservedPod:
    """One live pod and the observed behavior of its containers."""

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
            text(dig(container, "name")): text(dig(container, "image"))
            for group in ("initContainers", "containers")
            for container in items(dig(pod, "spec", group))
        }

    def behaviors(self) -> Iterator[PodBehavior]:
        why = _unschedulable(self._pod)
        if why:
            yield self._behavior("*", "*", unschedulable=why)
        for group in ("initContainerStatuses", "containerStatuses"):
            for raw in items(dig(self._pod, "status", group)):
                status = fields(raw)
                behavior = self._container_behavior(text(status.get("name")), status)
                if behavior is not None:
                    yield behavior

    def _container_behavior(self, name: str, status: Object) -> PodBehavior | None:
        state = fields(status.get("state"))
        waiting = fields(state.get("waiting"))
        message = text(waiting.get("message"))
        image = self._images.get(name) or text(status.get("image")) or "*"
        if text(waiting.get("reason")) in _PULL_FAILURES:
            denied = pull_problem(message) is PullProblem.UNAUTHORIZED
            return self._behavior(name, image, pull="denied" if denied else "missing")
        invalid = understand(message).first(ContainerConfigInvalid)
        if invalid is not None and invalid.runs_as_root:
            return replace(self._behavior(name, image), image_user="0")
        ended = fields(state.get("terminated")) or fields(dig(status, "lastState", "terminated"))
        code = integer(ended.get("exitCode"))
        crashes = waiting.get("reason") == "CrashLoopBackOff" or "terminated" in state
        calls = self._unreachable_service(name)
        if calls and ((ended and code and crashes) or ("running" in state and self._job)):
            return self._behavior(name, image, calls=calls, on_no_answer="exit" if crashes else "wait")
        if ended and code and crashes:
            log = tuple(LogLine(text=line) for line in self._last_lines(name))
            return self._behavior(
                name, image, runs_seconds=2, exit_code=code, reason=_specific_reason(ended), log=log
            )
        running = fields(state.get("running"))
        if "running" in state and self._age(running) > (_LONG_JOB if self._job else _STARTUP_TIME):
            if self._job:
                return self._behavior(name, image, runs_seconds=_FOREVER)
            if status.get("ready") is False:
                return self._behavior(name, image, ready_seconds=None)
        return None

    def _behavior(
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
            image=_escaped_pattern(image),
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

    def _unreachable_service(self, container: str) -> tuple[str, ...]:
        """A Service of this app that does not exist yet and that the last log lines fail to reach."""
        for line in reversed(self._last_lines(container)[-3:]):
            if not any(word in line.lower() for word in _NETWORK_ERRORS):
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
        started_at = text(running.get("startedAt")) or text(dig(self._pod, "status", "startTime"))
        return _seconds_since(started_at, self._case.now)


def _deduplicated(behaviors: Iterable[PodBehavior]) -> tuple[PodBehavior, ...]:
    """Pods of one template behave alike: one behavior for all of them."""
    unique: dict[tuple[str, ...], PodBehavior] = {}
    for behavior in behaviors:
        labels = (text for pair in sorted(behavior.labels.items()) for text in pair)
        unique.setdefault(
            (
                behavior.namespace,
                behavior.name,
                behavior.image,
                behavior.container,
                behavior.unschedulable,
                *labels,
            ),
            behavior,
        )
    return tuple(unique.values())


def _labels_of_template(labels: Object) -> dict[str, str]:
    for name in (*_TEMPLATE_LABELS, *_JOB_LABELS):
        if isinstance(labels.get(name), str):
            return {name: text(labels[name])}
    return {}


def _unschedulable(pod: Object) -> str:
    """The scheduler's message; unbound claims are left to the simulated scheduler."""
    if dig(pod, "status", "phase") != "Pending" or dig(pod, "spec", "nodeName"):
        return ""
    for condition in items(dig(pod, "status", "conditions")):
        if dig(condition, "type") == "PodScheduled" and dig(condition, "status") == "False":
            message = text(dig(condition, "message"))
            return "" if "persistentvolumeclaim" in message.lower() else message
    return ""


def _failed_hooks(case: Case, desired: Iterable[Manifest]) -> Iterator[PodBehavior]:
    """Hooks that failed and whose pods were deleted fail again if they are unchanged.

    A hook that the API server rejected (`SyncFailed`) never ran.
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
        if manifest.ref.kind != "Job" or name not in failed or _is_other_job(case, manifest):
            continue
        namespace = manifest.ref.namespace or case.destination_namespace
        pods = [
            log for log in case.index.logs_by_namespace.get(namespace, ()) if log.pod.startswith(f"{name}-")
        ]
        interrupted_after = _interrupted_after(case, failed[name], manifest)
        for raw in items(dig(manifest.spec, "template", "spec", "containers")):
            container = fields(raw)
            yield PodBehavior(
                namespace=namespace,
                name=f"{name}-*",
                image=_escaped_pattern(text(container.get("image"))),
                runs_seconds=2 if interrupted_after is None else interrupted_after * _EXTRA_TIME,
                exit_code=1 if interrupted_after is None else 0,
                log=tuple(LogLine(text=line) for line in _tail(pods, text(container.get("name")))),
            )


def _is_other_job(case: Case, manifest: Manifest) -> bool:
    """Does Git now declare another Job than the one that failed?"""
    operation = case.operation
    at = operation.sync_result.revision if operation is not None and operation.sync_result is not None else ""
    if not at or at == case.app.status.sync.revision:
        return False
    live = case.live_of(manifest.key)
    return live is None or _images(live) != _images(manifest)


def _images(job: Manifest) -> list[str]:
    return [
        text(dig(container, "image")) for container in items(dig(job.spec, "template", "spec", "containers"))
    ]


def was_interrupted(result: ResourceResult) -> bool:
    """Was a hook interrupted by its deadline or with its sync? How long it needs is unknown."""
    return ended_with_its_sync(result) or (bool(result.hook_type) and _exceeded_deadline(result))


def _exceeded_deadline(result: ResourceResult) -> bool:
    return understand(result.message).first(DeadlineExceeded) is not None


def _interrupted_after(case: Case, result: ResourceResult, job: Manifest) -> float | None:
    """Seconds that a hook ran until it was interrupted; `None` if it was not."""
    if _exceeded_deadline(result):
        live_job = case.live_of(job.key) or job  # the deadline in Git may have changed since
        return float(integer(live_job.spec.get("activeDeadlineSeconds"))) or None
    operation = case.operation
    if not ended_with_its_sync(result) or operation is None:
        return None
    if operation.started_at is None or operation.finished_at is None:
        return None
    return (operation.finished_at - operation.started_at).total_seconds()


def _tail(logs: Iterable[Log], container: str) -> tuple[str, ...]:
    matching = sorted((log for log in logs if log.container == container), key=lambda log: not log.previous)
    return matching[0].lines[-_MAX_LOG_LINES:] if matching else ()


def _specific_reason(ended: Object) -> str:
    reason = text(ended.get("reason"))
    return reason if reason not in ("Error", "Completed") else ""


def _escaped_pattern(image: str) -> str:
    """An image as a glob pattern that matches only itself."""
    return image.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]") if image != "*" else image
