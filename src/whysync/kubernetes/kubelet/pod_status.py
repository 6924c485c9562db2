"""The status of a pod from its containers: phase and conditions.

Mirrors the kubelet's `getPhase` and `status/generate.go`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text

_OWN: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def is_sidecar(container: Object) -> bool:
    """An init container that runs beside the others."""
    return container.get("restartPolicy") == "Always"


def restarts(container: Object, policy: str, code: int) -> bool:
    """Is a container started again after it ended with this code?"""
    if is_sidecar(container):
        return True
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def phase_of(pod: Object, statuses: dict[str, Object], *, ended: bool = False) -> str:
    """`ended` says that nothing will be started any more."""
    spec = fields(pod.get("spec"))
    policy = text(spec.get("restartPolicy"), "Always")
    waiting = running = stopped = succeeded = final = 0
    pending_init = False
    for raw in items(spec.get("initContainers")):
        container = fields(raw)
        container_status = statuses.get(text(container.get("name")), {})
        state, code = _state(container_status)
        if is_sidecar(container):
            running += state == "running"
            if state == "waiting" and code is None:
                pending_init = True
            if state == "running" and container_status.get("started") is not True:
                pending_init = True
        elif code is None:
            pending_init = True
        elif code != 0 and not restarts(container, policy, code):
            return "Failed"
        elif code != 0:
            pending_init = True
    for raw in items(spec.get("containers")):
        container = fields(raw)
        state, code = _state(statuses.get(text(container.get("name")), {}))
        if state == "running":
            running += 1
        elif code is not None:
            stopped += 1
            succeeded += state == "terminated" and code == 0
            final += not restarts(container, policy, code)
        else:
            waiting += 1
    if (waiting or pending_init) and not ended:
        return "Pending"
    if running:
        return "Running"
    if not ended and stopped != final:
        return "Running"
    return "Succeeded" if stopped and stopped == succeeded else "Failed"


def _state(container_status: Object) -> tuple[str, int | None]:
    """What the container does, and with which code it ended, now or the last time."""
    state, last = fields(container_status.get("state")), fields(container_status.get("lastState"))
    if "running" in state:
        return "running", None
    ended = fields(state.get("terminated"))
    if ended:
        return "terminated", integer(ended.get("exitCode"))
    ended = fields(last.get("terminated"))
    return "waiting", integer(ended.get("exitCode")) if ended else None


def conditions_of(
    pod: Object, statuses: dict[str, Object], phase: str, *, sandbox: bool, now: str
) -> list[Json]:
    """All conditions; those that others wrote stay as they are."""
    old = {text(fields(raw).get("type")): fields(raw) for raw in items(dig(pod, "status", "conditions"))}
    generation = integer(dig(pod, "metadata", "generation"))
    ready = _containers_ready(pod, statuses, phase)
    computed: dict[str, Object] = {
        "PodReadyToStartContainers": {"status": "True" if sandbox else "False"},
        "Initialized": _initialized(pod, statuses, phase),
        "Ready": _ready(pod, ready, old),
        "ContainersReady": ready,
    }
    conditions: list[Json] = []
    for kind, state in computed.items():
        before = old.get(kind, {})
        moved = now if before.get("status") != state["status"] else before.get("lastTransitionTime")
        condition: Object = {"type": kind, "lastProbeTime": None, "lastTransitionTime": moved or now}
        if generation:
            condition["observedGeneration"] = generation
        conditions.append({**condition, **state})
    conditions.extend(condition for kind, condition in old.items() if kind not in _OWN)
    return conditions


def _containers_ready(pod: Object, statuses: dict[str, Object], phase: str) -> Object:
    if phase == "Succeeded":
        return {"status": "False", "reason": "PodCompleted"}
    if phase == "Failed":
        return {"status": "False", "reason": "PodFailed"}
    spec = fields(pod.get("spec"))
    sidecars = [fields(raw) for raw in items(spec.get("initContainers")) if is_sidecar(fields(raw))]
    names = [
        text(sidecar.get("name")) for sidecar in (*sidecars, *map(fields, items(spec.get("containers"))))
    ]
    unready = [name for name in names if statuses.get(name, {}).get("ready") is not True]
    if unready:
        message = f"containers with unready status: [{' '.join(unready)}]"
        return {"status": "False", "reason": "ContainersNotReady", "message": message}
    return {"status": "True"}


def _ready(pod: Object, containers: Object, old: dict[str, Object]) -> Object:
    if containers["status"] != "True":
        return containers
    problems: list[str] = []
    for raw in items(dig(pod, "spec", "readinessGates")):
        gate = text(fields(raw).get("conditionType"))
        status = text(old.get(gate, {}).get("status"))
        if not status:
            problems.append(f'corresponding condition of pod readiness gate "{gate}" does not exist.')
        elif status != "True":
            problems.append(f'the status of pod readiness gate "{gate}" is not "True", but {status}')
    if problems:
        return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(problems)}
    return containers


def _initialized(pod: Object, statuses: dict[str, Object], phase: str) -> Object:
    spec = fields(pod.get("spec"))
    unfinished: list[str] = []
    for raw in items(spec.get("initContainers")):
        container = fields(raw)
        name = text(container.get("name"))
        container_status = statuses.get(name, {})
        if container_status.get("started" if is_sidecar(container) else "ready") is not True:
            unfinished.append(name)
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    begun = any(
        _begun(statuses.get(text(fields(raw).get("name")), {})) for raw in items(spec.get("containers"))
    )
    if unfinished and not begun:
        message = f"containers with incomplete status: [{' '.join(unfinished)}]"
        return {"status": "False", "reason": "ContainersNotInitialized", "message": message}
    return {"status": "True"}


def _begun(container_status: Object) -> bool:
    return "waiting" not in fields(container_status.get("state")) or bool(
        fields(container_status.get("lastState"))
    )
