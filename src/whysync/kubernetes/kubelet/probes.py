"""When the probes of a container pass or fail, by its spec and its `PodBehavior`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

from whysync.json_tree import Object, fields, integer, text
from whysync.kubernetes.kubelet.container_status import Container

_DEFAULT_PERIOD: Final = 10
_DEFAULT_THRESHOLD: Final = 3
_MIN_DELAY: Final = 1
"""The first probe runs after a second even without initialDelaySeconds."""


def probe_of(container: Container, probe_type: str) -> Object:
    """The `startup`, `readiness` or `liveness` probe; empty if the container has none."""
    return fields(container.spec.get(f"{probe_type}Probe"))


def first_probe_at(probe: Object, since: datetime) -> datetime:
    return since + timedelta(seconds=max(integer(probe.get("initialDelaySeconds")), _MIN_DELAY))


def period(probe: Object) -> timedelta:
    return timedelta(seconds=max(integer(probe.get("periodSeconds"), _DEFAULT_PERIOD), 1))


def threshold(probe: Object) -> int:
    return max(integer(probe.get("failureThreshold"), _DEFAULT_THRESHOLD), 1)


def passes_at(container: Container, probe: Object) -> datetime | None:
    """When the probe begins to pass; `None` means never."""
    ready_seconds = container.behavior.ready_seconds
    if ready_seconds is None or container.connected_at is None or _unserved(container, probe):
        return None
    return container.connected_at + timedelta(seconds=max(ready_seconds, container.behavior.up_seconds))


def passes_now(container: Container, probe: Object, now: datetime) -> bool:
    """Would the probe pass now?"""
    passes = passes_at(container, probe)
    return passes is not None and now >= passes


def liveness_kill_at(container: Container) -> datetime | None:
    """When the liveness probe reaches its failureThreshold; `None` means never."""
    probe = probe_of(container, "liveness")
    behavior, start = container.behavior, container.connected_at
    fails_after = behavior.live_seconds
    if fails_after is None and _unserved(container, probe):
        fails_after = 0
    if not probe or start is None:
        return None
    first = first_probe_at(probe, start)
    until_threshold = period(probe) * (threshold(probe) - 1)
    listens_at = start + timedelta(seconds=behavior.up_seconds)
    if not probe_of(container, "startup") and first + until_threshold < listens_at:
        return first + until_threshold
    if fails_after is None:
        return None
    fails_at = start + timedelta(seconds=fails_after)
    if first < fails_at:
        first += period(probe) * -((first - fails_at) // period(probe))
    return first + until_threshold


def is_listening(container: Container, now: datetime) -> bool:
    """Does the program accept connections yet?"""
    start, seconds = container.connected_at, container.behavior.up_seconds
    return not seconds or (start is not None and now >= start + timedelta(seconds=seconds))


def failure_output(container: Container, probe: Object, pod_ip: str, *, listening: bool) -> str:
    """The output of a failed probe; `PodBehavior.probe_output` takes precedence."""
    if container.behavior.probe_output:
        return container.behavior.probe_output
    http_get = fields(probe.get("httpGet"))
    if http_get:
        port, unserved = _port(container, http_get), _unserved(container, probe)
        if unserved == "port" or not listening:
            scheme, path = text(http_get.get("scheme"), "HTTP").lower(), text(http_get.get("path"), "/")
            refused = f"dial tcp {pod_ip}:{port}: connect: connection refused"
            return f'Get "{scheme}://{pod_ip}:{port}{path}": {refused}'
        return f"HTTP probe failed with statuscode: {404 if unserved else 503}"
    if fields(probe.get("tcpSocket")):
        port = _port(container, fields(probe.get("tcpSocket")))
        return f"dial tcp {pod_ip}:{port}: connect: connection refused"
    if fields(probe.get("grpc")):
        return 'service unhealthy (responded with "NOT_SERVING")'
    return ""


def _unserved(container: Container, probe: Object) -> Literal["", "port", "path"]:
    """Whether the probe uses a port without a listener, or a path that the program does not serve."""
    http_get, serves = fields(probe.get("httpGet")), container.behavior.serves
    action = http_get or fields(probe.get("tcpSocket"))
    if not action or not serves:
        return ""
    port = str(_port(container, action))
    endpoints = [endpoint.partition("/") for endpoint in serves if endpoint.partition("/")[0] == port]
    if not endpoints:
        return "port"
    serves_all_paths = not http_get or any(not slash for _, slash, _ in endpoints)
    probed_path = text(http_get.get("path"), "/").partition("?")[0].lstrip("/")
    return "" if serves_all_paths or any(path == probed_path for _, _, path in endpoints) else "path"


def _port(container: Container, action: Object) -> int:
    """The number of the probed port, which may be given by name; 0 if the container has no such port."""
    port = action.get("port")
    if not isinstance(port, str):
        return integer(port)
    ports = container.spec.get("ports")
    for raw in ports if isinstance(ports, list) else []:
        if text(fields(raw).get("name")) == port:
            return integer(fields(raw).get("containerPort"))
    return 0
