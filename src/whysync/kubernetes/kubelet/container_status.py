"""A container on a node: its state, and its entry in the pod's containerStatuses."""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal

import msgspec

from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.kubelet.container_behavior import DEFAULT_BEHAVIOR, Role
from whysync.kubernetes.kubelet.logs import Run

Step = Literal[
    "idle",  # not begun
    "pulling",
    "pull-failed",  # ErrImagePull
    "pull-back-off",  # ImagePullBackOff
    "config-error",  # CreateContainerConfigError
    "starting",
    "running",
    "restarting",  # terminated, with a restart due
    "crash-loop-back-off",  # CrashLoopBackOff
    "done",  # terminated, without a restart
]


class Container(msgspec.Struct):
    name: str
    spec: Object
    role: Role
    step: Step = "idle"
    due: datetime | None = None
    """When the next step is due; `None` means never."""
    reason: str = ""
    """The reason of the state `waiting`."""
    message: str = ""
    restart_count: int = 0
    started_at: str = ""
    running_since: datetime | None = None
    terminated: Object = msgspec.field(default_factory=dict[str, Json])
    last_terminated: Object = msgspec.field(default_factory=dict[str, Json])
    ready: bool = False
    started: bool = False
    behavior: PodBehavior = DEFAULT_BEHAVIOR
    run: Run | None = None
    connected_at: datetime | None = None
    """When all services that the program calls at its start were reachable."""
    pending_calls: tuple[str, ...] = ()
    """Services that were not reachable yet."""
    exit_at: datetime | None = None
    exit_code: int = 0
    exit_reason: str = ""
    pull_failures: int = 0
    """Consecutive failed pulls."""
    config_failures: int = 0
    """Consecutive CreateContainerConfigErrors."""
    pull_error: str = ""
    backoff: float = 0
    """The back-off of the next restart in seconds; the first restart has none."""
    probe_at: datetime | None = None
    probe_failures: int = 0
    kill_at: datetime | None = None
    """When the liveness probe reaches its failureThreshold."""

    @property
    def field_path(self) -> str:
        return f"spec.{'containers' if self.role == 'main' else 'initContainers'}{{{self.name}}}"

    @property
    def is_initialized(self) -> bool:
        """May the next init container, or the pod's main containers, start?"""
        if self.role == "sidecar":
            return self.step == "running" and self.started
        return self.step == "done" and self.terminated.get("exitCode") == 0

    @property
    def image(self) -> str:
        return text(self.spec.get("image"))

    def status(self, uid: str) -> Object:
        """The entry in containerStatuses or initContainerStatuses."""
        created = self.step in ("running", "restarting", "done") or bool(self.last_terminated)
        last: Object = {"terminated": self.last_terminated} if self.last_terminated else {}
        status: Object = {
            "name": self.name,
            "state": self._state(),
            "lastState": last,
            "ready": self.ready,
            "restartCount": self.restart_count,
            "image": full_image_name(self.image) if created else self.image,
            "imageID": _image_id(self.image) if created else "",
            "started": self.started,
        }
        if created:
            status["containerID"] = self.container_id(uid)
        return status

    def _state(self) -> Object:
        if self.step == "running":
            return {"running": {"startedAt": self.started_at}}
        if self.step in ("restarting", "done"):
            return {"terminated": self.terminated}
        waiting: Object = {"reason": self.reason}
        if self.message:
            waiting["message"] = self.message
        return {"waiting": waiting}

    def container_id(self, uid: str) -> str:
        return f"containerd://{_hash(f'{uid}/{self.name}/{self.restart_count}')}"


def _image_id(image: str) -> str:
    full = full_image_name(image)
    if "@" in full:
        return full
    return f"{full.rpartition(':')[0]}@sha256:{_hash(full)}"


def _hash(value: str) -> str:
    return sha256(value.encode()).hexdigest()


# Pods and images as they are written in the kubelet's messages.


_REPOSITORY: Final = re.compile(
    r"(?:[a-zA-Z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z0-9]+:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


def pod_title(pod: Object) -> str:
    """`web-0_shop(uid)`, as the kubelet writes a pod into its messages."""
    meta = fields(pod.get("metadata"))
    return f"{text(meta.get('name'))}_{text(meta.get('namespace'))}({text(meta.get('uid'))})"


def full_image_name(image: str) -> str:
    """The image with its registry and tag: `nginx` is `docker.io/library/nginx:latest`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif "." not in first and ":" not in first and first != "localhost":
        image = f"docker.io/{image}"
    name = image.rpartition("/")[2]
    return image if ":" in name or "@" in name else f"{image}:latest"


def is_image_name(image: str) -> bool:
    """Is this a valid image reference?"""
    return len(image) <= 1024 and _REPOSITORY.fullmatch(image) is not None
