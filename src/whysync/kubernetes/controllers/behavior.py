"""What a scenario says of the cluster beyond its objects: how containers behave, what the outside gives.

What the objects say counts first: a Secret that is missing is missing whatever stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a container prints, so long after its start."""

    after_seconds: float = 0
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBehavior:
    """How the containers of some pods behave. Globs and labels say which; the first that fits counts."""

    namespace: str = "*"
    name: str = "*"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    image: str = "*"
    container: str = "*"
    """What is said of whole pods does not concern their init containers: those are named here or by image."""
    pull: Literal["", "missing", "denied", "slow"] = ""
    pull_seconds: float = 1
    start_seconds: float = 1
    ready_seconds: float | None = 1
    """From its start until it is ready; never for `None`."""
    runs_seconds: float | None = None
    """Until it ends; it runs on for `None`, but the pods of Jobs end after five seconds."""
    live_seconds: float | None = None
    """From its start until its liveness probe begins to fail; it never does for `None`."""
    probe_output: str = ""
    """What a failing probe says, such as `HTTP probe failed with statuscode: 500`."""
    up_seconds: float = 0
    """From its start until it listens at all: until then, probes of every kind fail."""
    serves: tuple[str, ...] = ()
    """Where it answers probes, as `8080` or `8080/healthz`; anywhere, where nothing is told."""
    memory: str = ""
    """How much it comes to use, such as `300Mi`: a lower limit has it killed."""
    memory_seconds: float = 3
    """From its start until it uses that much."""
    image_user: str = ""
    """Whom its image runs as, such as `0` or `node`; where nothing is told, somebody who is not root."""
    stop_seconds: float = 1
    """How long it takes to stop when its pod is deleted; no longer than the grace period."""
    exit_code: int = 0
    reason: str = ""
    """Why it ended, such as `OOMKilled`."""
    log: tuple[LogLine, ...] = ()
    calls: tuple[str, ...] = ()
    """Services that it needs, as `db:5432` or `db.namespace:5432`: with that port and a ready endpoint."""
    on_no_answer: Literal["exit", "wait"] = "exit"
    retry_seconds: float = 5
    unschedulable: str = ""
    """Why no node takes the pod, in the scheduler's words; empty where one does."""
    times: int | None = None
    """So only in the first runs of pods of one owner, then as usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What the metrics of an autoscaler say from an instant after the start on: one of the last three."""

    namespace: str
    name: str
    after_seconds: float = 0
    replicas: int | None = None
    """As many as the metrics ask for."""
    utilization: int | None = None
    """The average use of the resource, in percent of the requests."""
    error: str = ""
    """Why there are no metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    pods: tuple[PodBehavior, ...] = ()
    load_balancers: Literal["ok", "pending"] = "ok"
    load_balancer_seconds: float = 5
    """Until a load balancer has its address."""
    volumes: Literal["ok", "pending"] = "ok"
    volume_seconds: float = 1
    """Until a volume is provisioned."""
    metrics: tuple[Metric, ...] = ()
    stopped: frozenset[str] = frozenset()
    """Names of controllers that do nothing at all."""
    slow: Mapping[str, float] = field(default_factory=dict[str, float])
    """Controllers that hear of every change so many seconds late, by name."""
