"""One container on a node: where it is on its way, and how its pod's status tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

from whysync.json_tree import Json, Object, text
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.kubelet.container_behavior import PLAIN, Role
from whysync.kubernetes.kubelet.formatting import full_image
from whysync.kubernetes.kubelet.logs import Run

Step = Literal[
    "idle",  # not begun, or to be begun again
    "pulling",
    "pull-failed",  # ErrImagePull
    "pull-waits",  # ImagePullBackOff
    "unconfigured",  # CreateContainerConfigError
    "starting",
    "running",
    "ended",  # with a restart to come
    "crash-waits",  # CrashLoopBackOff
    "done",  # for good
]


@dataclass(slots=True)
class Container:
    name: str
    spec: Object
    role: Role
    step: Step = "idle"
    due: datetime | None = None
    """When the next thing happens; never for `None`."""
    reason: str = ""
    """Why it waits."""
    message: str = ""
    restarts: int = 0
    started_at: str = ""
    running_since: datetime | None = None
    ended: Object = field(default_factory=dict[str, Json])
    last: Object = field(default_factory=dict[str, Json])
    ready: bool = False
    started: bool = False
    part: PodBehavior = PLAIN
    run: Run | None = None
    begun: datetime | None = None
    """When it had all the answers that it needs."""
    calls: tuple[str, ...] = ()
    """Those still without an answer."""
    exit_at: datetime | None = None
    exit_code: int = 0
    exit_reason: str = ""
    failures: int = 0
    """Pulls that failed in a row."""
    tries: int = 0
    """How often it could not be made for want of something."""
    pull_error: str = ""
    backoff: float = 0
    """How long the next restart waits; none for the first."""
    probe_at: datetime | None = None
    probe_failures: int = 0
    kill_at: datetime | None = None
    """When the liveness probe has failed too often."""

    @property
    def field_path(self) -> str:
        return f"spec.{'containers' if self.role == 'main' else 'initContainers'}{{{self.name}}}"

    @property
    def is_initialized(self) -> bool:
        """May the next init container, or the pod's main containers, begin?"""
        if self.role == "sidecar":
            return self.step == "running" and self.started
        return self.step == "done" and self.ended.get("exitCode") == 0

    @property
    def image(self) -> str:
        return text(self.spec.get("image"))

    def status(self, uid: str) -> Object:
        """Its entry in the status of the pod."""
        made = self.step in ("running", "ended", "done") or bool(self.last)
        last: Object = {"terminated": self.last} if self.last else {}
        status: Object = {
            "name": self.name,
            "state": self._state(),
            "lastState": last,
            "ready": self.ready,
            "restartCount": self.restarts,
            "image": full_image(self.image) if made else self.image,
            "imageID": _digest(self.image) if made else "",
            "started": self.started,
        }
        if made:
            status["containerID"] = self.identity(uid)
        return status

    def _state(self) -> Object:
        if self.step == "running":
            return {"running": {"startedAt": self.started_at}}
        if self.step in ("ended", "done"):
            return {"terminated": self.ended}
        waiting: Object = {"reason": self.reason}
        if self.message:
            waiting["message"] = self.message
        return {"waiting": waiting}

    def identity(self, uid: str) -> str:
        return f"containerd://{_hash(f'{uid}/{self.name}/{self.restarts}')}"


def _digest(image: str) -> str:
    full = full_image(image)
    if "@" in full:
        return full
    return f"{full.rpartition(':')[0]}@sha256:{_hash(full)}"


def _hash(value: str) -> str:
    return sha256(value.encode()).hexdigest()


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
