"""Pod. One that ends by design (`restartPolicy` Never or OnFailure) is Progressing while it runs.

Such a Pod is often a hook: calling it Degraded for an image that cannot be pulled yet would end the sync,
and the Pod would still run later on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import condition, spec_of, status_of
from whysync.argocd.health.builtin.typed import METADATA, GoCheck, Shape, conditions_shape
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks import is_hook
from whysync.argocd.hooks.annotations import annotations_of
from whysync.golang.fmt import quoted
from whysync.json_tree import Object, dig, fields, integer, items, text

_IGNORE_RESTART_POLICY: Final = "argocd.argoproj.io/ignore-restart-policy"


def _judge(pod: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1PodHealth`, Argo CD 3.6."""
    long_running = _is_long_running(pod)
    if long_running:
        errors = [text(waiting.get("message")) for waiting in _waiting(pod) if _is_error(waiting)]
        if errors:
            return HealthVerdict(HealthCode.DEGRADED, ", ".join(errors))
    message = text(status_of(pod).get("message"))
    match status_of(pod).get("phase"):
        case "Pending":
            return HealthVerdict(HealthCode.PROGRESSING, message)
        case "Succeeded":
            return HealthVerdict(HealthCode.HEALTHY, message)
        case "Failed":
            return HealthVerdict(HealthCode.DEGRADED, message or _why_failed(pod))
        case "Running" if long_running:
            return HealthVerdict(_running(pod), message)
        case "Running" if spec_of(pod).get("restartPolicy") in ("OnFailure", "Never"):
            return HealthVerdict(HealthCode.PROGRESSING, message)
        case _:
            return HealthVerdict(HealthCode.UNKNOWN, message)


def _is_long_running(pod: Object) -> bool:
    if spec_of(pod).get("restartPolicy") == "Always":
        return True
    return annotations_of(pod).get(_IGNORE_RESTART_POLICY) == "true" and not is_hook(pod)


def _running(pod: Object) -> HealthCode:
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "True":
        return HealthCode.HEALTHY
    for container in _containers(pod, "containerStatuses"):
        if fields(container.get("lastState")).get("terminated") is not None:
            return HealthCode.DEGRADED
    return HealthCode.PROGRESSING


def _waiting(pod: Object) -> Iterator[Object]:
    for container in _containers(pod, "containerStatuses"):
        waiting = dig(container, "state", "waiting")
        if isinstance(waiting, dict):
            yield waiting


def _is_error(waiting: Object) -> bool:
    reason = text(waiting.get("reason"))
    return reason.startswith("Err") or reason.endswith(("Error", "BackOff"))


def _why_failed(pod: Object) -> str:
    """The first container that says something, init containers first."""
    for which in ("initContainerStatuses", "containerStatuses"):
        for container in _containers(pod, which):
            terminated = fields(dig(container, "state", "terminated"))
            message, code = text(terminated.get("message")), integer(terminated.get("exitCode"))
            if message:
                return message
            if terminated.get("reason") == "OOMKilled":
                return "OOMKilled"
            if code != 0:
                return f"container {quoted(text(container.get('name')))} failed with exit code {code}"
    return ""


def _containers(pod: Object, which: str) -> Iterator[Object]:
    for container in items(status_of(pod).get(which)):
        yield fields(container)


_STATE: Final[Shape] = {
    "waiting": {"reason": "string", "message": "string"},
    "terminated": {"exitCode": "int32", "reason": "string", "message": "string"},
}
_CONTAINERS: Final[Shape] = [{"name": "string", "state": _STATE, "lastState": _STATE}]

POD = GoCheck(
    name="Pod",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"restartPolicy": "v1.RestartPolicy"},
        "status": {
            "phase": "v1.PodPhase",
            "conditions": conditions_shape("v1.Pod"),
            "message": "string",
            "reason": "string",
            "initContainerStatuses": _CONTAINERS,
            "containerStatuses": _CONTAINERS,
        },
    },
)
