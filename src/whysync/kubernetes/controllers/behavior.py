"""Behavior of a simulated cluster that its objects do not determine: containers, metrics, load balancers.

Objects take precedence: a missing Secret is missing, whatever the behavior of the container is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that a container prints, and when, counted from its start."""

    after_seconds: float = 0
    text: str


class PodBehavior(msgspec.Struct, frozen=True, kw_only=True):
    """How the containers of some pods behave. The first one whose globs and labels match a pod applies."""

    namespace: str = "*"
    name: str = "*"
    labels: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    image: str = "*"
    container: str = "*"
    """Init containers and sidecars are matched only if `container` or `image` is set."""
    pull: Literal["", "missing", "denied", "slow"] = ""
    pull_seconds: float = 1
    start_seconds: float = 1
    ready_seconds: float | None = 1
    """From its start until it is ready; `None` means never."""
    runs_seconds: float | None = None
    """Until it exits; `None` means never, except for pods of Jobs, which exit after five seconds."""
    live_seconds: float | None = None
    """From its start until its liveness probe begins to fail; `None` means never."""
    probe_output: str = ""
    """The output of a failing probe, such as `HTTP probe failed with statuscode: 500`."""
    up_seconds: float = 0
    """From its start until it accepts connections: until then, all probes fail."""
    serves: tuple[str, ...] = ()
    """Ports and paths that answer probes, as `8080` or `8080/healthz`; empty means all."""
    memory: str = ""
    """The memory that it comes to use, such as `300Mi`; it is OOM killed if its limit is lower."""
    memory_seconds: float = 3
    """From its start until it uses that much."""
    image_user: str = ""
    """The user of its image, such as `0` or `node`; empty means a numeric user other than root."""
    stop_seconds: float = 1
    """How long it takes to stop when its pod is deleted; at most the grace period."""
    exit_code: int = 0
    reason: str = ""
    """The reason of its termination, such as `OOMKilled`."""
    log: tuple[LogLine, ...] = ()
    calls: tuple[str, ...] = ()
    """Services that it connects to at its start, as `db:5432` or `db.namespace:5432`."""
    on_no_answer: Literal["exit", "wait"] = "exit"
    retry_seconds: float = 5
    unschedulable: str = ""
    """The scheduler's reason why the pod is unschedulable; empty if the scheduler decides."""
    times: int | None = None
    """Applies only to the first runs of pods of one owner."""


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """The metric of an autoscaler from a time after the start on."""

    namespace: str
    name: str
    after_seconds: float = 0
    replicas: int
    """The number of replicas that the metric recommends."""


class Behavior(msgspec.Struct, frozen=True, kw_only=True):
    pods: tuple[PodBehavior, ...] = ()
    load_balancers: Literal["ok", "pending"] = "ok"
    load_balancer_seconds: float = 5
    """Until a load balancer has its address."""
    volumes: Literal["ok", "pending"] = "ok"
    volume_seconds: float = 1
    """Until a volume is provisioned."""
    metrics: tuple[Metric, ...] = ()
    stopped: frozenset[str] = frozenset()
    """Names of controllers that do not run."""
    slow: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    """Delay in seconds after which a controller receives events, by its name."""
