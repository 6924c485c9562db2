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
    told: dict[str, Object] = {}
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            told[text(fields(raw).get("name"))] = fields(raw)
    for container in containers:
        if container.name in told:
            _take_over(container, told[container.name], pod, behaviour, now)


def _take_over(
    one: Container, told: Object, pod: Object, behaviour: ContainerBehavior, now: datetime
) -> None:
    state = fields(told.get("state"))
    one.restarts = integer(told.get("restartCount"))
    one.last = fields(dig(told, "lastState", "terminated"))
    one.ready = told.get("ready") is True
    one.started = told.get("started") is True
    if "running" in state:
        _take_over_running(one, fields(state.get("running")), pod, behaviour, now)
    elif "terminated" in state:
        one.ended = fields(state.get("terminated"))
        code = integer(one.ended.get("exitCode"))
        policy = text(dig(pod, "spec", "restartPolicy"), "Always")
        if one.role == "init" and code == 0:
            one.step = "done"
        elif restarts(one.spec, policy, code):
            one.step, one.due = "ended", now + timedelta(seconds=1)
        else:
            one.step = "done"
    else:
        waiting = fields(state.get("waiting"))
        one.reason, one.message = text(waiting.get("reason")), text(waiting.get("message"))
        if one.reason in _STUCK:
            one.step = "crash-waits"
            if behaviour.is_told(pod, one.spec, one.role):
                one.due = now + timedelta(seconds=10)


def _take_over_running(
    one: Container, running: Object, pod: Object, behaviour: ContainerBehavior, now: datetime
) -> None:
    one.step = "running"
    one.started_at = text(running.get("startedAt"))
    one.running_since = one.begun = _moment(one.started_at, now)
    if one.role != "main":
        return
    one.part = behaviour.of_run(pod, one.spec, "main")
    if one.part.runs_seconds is not None:
        one.exit_at = one.due = now + timedelta(seconds=one.part.runs_seconds)
        one.exit_code, one.exit_reason = one.part.exit_code, one.part.reason


def _moment(told: str, now: datetime) -> datetime:
    try:
        found = datetime.fromisoformat(told)
    except ValueError:
        return now
    return found if found.tzinfo else found.replace(tzinfo=UTC)
