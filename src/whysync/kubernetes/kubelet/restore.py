"""Restores the state of containers from the status of a pod that was loaded with the cluster.

A container in CrashLoopBackOff or ImagePullBackOff stays in it, because its cause is unknown here, unless a
`PodBehavior` matches the container. A container that waits for a Secret or ConfigMap is retried.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.conditions import parse_time
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.kubelet.container_status import Container
from whysync.kubernetes.kubelet.pod_status import should_restart

_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "RunContainerError"})


def restore_containers(
    containers: list[Container], pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    statuses: dict[str, Object] = {}
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            statuses[text(fields(raw).get("name"))] = fields(raw)
    for container in containers:
        if container.name in statuses:
            _restore(container, statuses[container.name], pod, behavior, now)


def _restore(
    container: Container, status: Object, pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    state = fields(status.get("state"))
    container.restart_count = integer(status.get("restartCount"))
    container.last_terminated = fields(dig(status, "lastState", "terminated"))
    container.ready = status.get("ready") is True
    container.started = status.get("started") is True
    if "running" in state:
        _restore_running(container, fields(state.get("running")), pod, behavior, now)
    elif "terminated" in state:
        container.terminated = fields(state.get("terminated"))
        code = integer(container.terminated.get("exitCode"))
        policy = text(dig(pod, "spec", "restartPolicy"), "Always")
        if container.role == "init" and code == 0:
            container.step = "done"
        elif should_restart(container.spec, policy, code):
            container.step, container.due = "restarting", now + timedelta(seconds=1)
        else:
            container.step = "done"
    else:
        waiting = fields(state.get("waiting"))
        container.reason, container.message = text(waiting.get("reason")), text(waiting.get("message"))
        if container.reason in _STUCK:
            container.step = "crash-loop-back-off"
            if behavior.is_scripted(pod, container.spec, container.role):
                container.due = now + timedelta(seconds=10)


def _restore_running(
    container: Container, running: Object, pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    container.step = "running"
    container.started_at = text(running.get("startedAt"))
    container.running_since = container.connected_at = parse_time(container.started_at) or now
    if container.role != "main":
        return
    container.behavior = behavior.of_next_run(pod, container.spec, "main")
    if container.behavior.runs_seconds is not None:
        container.exit_at = container.due = now + timedelta(seconds=container.behavior.runs_seconds)
        container.exit_code, container.exit_reason = container.behavior.exit_code, container.behavior.reason
