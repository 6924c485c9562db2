"""Phase and conditions of a pod, computed from its container statuses.

Mirrors the kubelet's `getPhase` and `status/generate.go`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text

_KUBELET_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def is_sidecar(container: Object) -> bool:
    """Is this init container a sidecar (restartPolicy Always)?"""
    return container.get("restartPolicy") == "Always"


def should_restart(container: Object, policy: str, code: int) -> bool:
    """Is a container restarted after it exited with this code?"""
    if is_sidecar(container):
        return True
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def pod_phase(pod: Object, statuses: dict[str, Object], *, ended: bool = False) -> str:
    """Mirrors `getPhase`; `ended` means that no container will be started any more."""
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
        elif code != 0 and not should_restart(container, policy, code):
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
            final += not should_restart(container, policy, code)
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
    """`running`, `terminated` or `waiting`, and the exit code of this or the last termination."""
    state, last = fields(container_status.get("state")), fields(container_status.get("lastState"))
    if "running" in state:
        return "running", None
    terminated = fields(state.get("terminated"))
    if terminated:
        return "terminated", integer(terminated.get("exitCode"))
    terminated = fields(last.get("terminated"))
    return "waiting", integer(terminated.get("exitCode")) if terminated else None


def pod_conditions(
    pod: Object, statuses: dict[str, Object], phase: str, *, sandbox: bool, now: str
) -> list[Json]:
    """The kubelet's conditions, followed by the conditions of other writers unchanged."""
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
        since = now if before.get("status") != state["status"] else before.get("lastTransitionTime")
        condition: Object = {"type": kind, "lastProbeTime": None, "lastTransitionTime": since or now}
        if generation:
            condition["observedGeneration"] = generation
        conditions.append({**condition, **state})
    conditions.extend(condition for kind, condition in old.items() if kind not in _KUBELET_CONDITIONS)
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
    incomplete: list[str] = []
    for raw in items(spec.get("initContainers")):
        container = fields(raw)
        name = text(container.get("name"))
        container_status = statuses.get(name, {})
        if container_status.get("started" if is_sidecar(container) else "ready") is not True:
            incomplete.append(name)
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    has_started = any(
        _has_started(statuses.get(text(fields(raw).get("name")), {})) for raw in items(spec.get("containers"))
    )
    if incomplete and not has_started:
        message = f"containers with incomplete status: [{' '.join(incomplete)}]"
        return {"status": "False", "reason": "ContainersNotInitialized", "message": message}
    return {"status": "True"}


def _has_started(container_status: Object) -> bool:
    return "waiting" not in fields(container_status.get("state")) or bool(
        fields(container_status.get("lastState"))
    )
