"""Containers that were there before the kubelet of the model: taken over as the pod's status tells them.

What a status says of the past, the model cannot know better: a container that crashes, or whose image cannot
be pulled, stays so unless the script speaks of it. What waits for another object is looked at again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.kubelet.container_status import Container
from whysync.kubernetes.kubelet.pod_status import restarts

_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "RunContainerError"})


def adopt(containers: list[Container], pod: Object, behaviour: ContainerBehavior, now: datetime) -> None:
    statuses: dict[str, Object] = {}
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            statuses[text(fields(raw).get("name"))] = fields(raw)
    for container in containers:
        if container.name in statuses:
            _take_over(container, statuses[container.name], pod, behaviour, now)


def _take_over(
    container: Container, status: Object, pod: Object, behaviour: ContainerBehavior, now: datetime
) -> None:
    state = fields(status.get("state"))
    container.restarts = integer(status.get("restartCount"))
    container.last = fields(dig(status, "lastState", "terminated"))
    container.ready = status.get("ready") is True
    container.started = status.get("started") is True
    if "running" in state:
        _take_over_running(container, fields(state.get("running")), pod, behaviour, now)
    elif "terminated" in state:
        container.ended = fields(state.get("terminated"))
        code = integer(container.ended.get("exitCode"))
        policy = text(dig(pod, "spec", "restartPolicy"), "Always")
        if container.role == "init" and code == 0:
            container.step = "done"
        elif restarts(container.spec, policy, code):
            container.step, container.due = "ended", now + timedelta(seconds=1)
        else:
            container.step = "done"
    else:
        waiting = fields(state.get("waiting"))
        container.reason, container.message = text(waiting.get("reason")), text(waiting.get("message"))
        if container.reason in _STUCK:
            container.step = "crash-waits"
            if behaviour.is_told(pod, container.spec, container.role):
                container.due = now + timedelta(seconds=10)


def _take_over_running(
    container: Container, running: Object, pod: Object, behaviour: ContainerBehavior, now: datetime
) -> None:
    container.step = "running"
    container.started_at = text(running.get("startedAt"))
    container.running_since = container.begun = _moment(container.started_at, now)
    if container.role != "main":
        return
    container.part = behaviour.of_run(pod, container.spec, "main")
    if container.part.runs_seconds is not None:
        container.exit_at = container.due = now + timedelta(seconds=container.part.runs_seconds)
        container.exit_code, container.exit_reason = container.part.exit_code, container.part.reason


def _moment(timestamp: str, now: datetime) -> datetime:
    try:
        parsed = datetime.fromisoformat(timestamp)
    except ValueError:
        return now
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
