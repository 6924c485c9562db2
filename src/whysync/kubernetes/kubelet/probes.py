"""When the probes of a container pass or fail, by its spec and by what the script says of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

from whysync.json_tree import Object, fields, integer, text
from whysync.kubernetes.kubelet.container_status import Container

_PERIOD: Final = 10
_THRESHOLD: Final = 3
_FIRST: Final = 1
"""A first look takes a moment, even without an initial delay."""


def probe_of(container: Container, which: str) -> Object:
    """`startup`, `readiness` or `liveness`; empty where there is none."""
    return fields(container.spec.get(f"{which}Probe"))


def first_look(probe: Object, since: datetime) -> datetime:
    return since + timedelta(seconds=max(integer(probe.get("initialDelaySeconds")), _FIRST))


def period(probe: Object) -> timedelta:
    return timedelta(seconds=max(integer(probe.get("periodSeconds"), _PERIOD), 1))


def threshold(probe: Object) -> int:
    return max(integer(probe.get("failureThreshold"), _THRESHOLD), 1)


def passes_at(container: Container, probe: Object) -> datetime | None:
    """From when on the probe passes; never for `None`."""
    wanted = container.part.ready_seconds
    if wanted is None or container.begun is None or _misses(container, probe):
        return None
    return container.begun + timedelta(seconds=max(wanted, container.part.up_seconds))


def answers(container: Container, probe: Object, now: datetime) -> bool:
    """Would the probe pass now?"""
    passes = passes_at(container, probe)
    return passes is not None and now >= passes


def killed_at(container: Container) -> datetime | None:
    """When the liveness probe will have failed as often as it may."""
    probe = probe_of(container, "liveness")
    fails, begun = container.part.live_seconds, container.begun
    if fails is None and _misses(container, probe):
        fails = 0
    if not probe or begun is None:
        return None
    early = first_look(probe, begun) + period(probe) * (threshold(probe) - 1)
    if not probe_of(container, "startup") and early < begun + timedelta(seconds=container.part.up_seconds):
        return early
    if fails is None:
        return None
    look, bad = first_look(probe, begun), begun + timedelta(seconds=fails)
    if look < bad:
        look += period(probe) * -((look - bad) // period(probe))
    return look + period(probe) * (threshold(probe) - 1)


def is_up(container: Container, now: datetime) -> bool:
    """Does it listen already?"""
    begun, seconds = container.begun, container.part.up_seconds
    return not seconds or (begun is not None and now >= begun + timedelta(seconds=seconds))


def failure(container: Container, probe: Object, address: str, *, up: bool = True) -> str:
    """The kubelet's message for a failed probe; the behavior's own text takes precedence."""
    if container.part.probe_output:
        return container.part.probe_output
    web = fields(probe.get("httpGet"))
    if web:
        port, missed = _port(container, web), _misses(container, probe)
        if missed == "port" or not up:
            scheme, path = text(web.get("scheme"), "HTTP").lower(), text(web.get("path"), "/")
            refused = f"dial tcp {address}:{port}: connect: connection refused"
            return f'Get "{scheme}://{address}:{port}{path}": {refused}'
        return f"HTTP probe failed with statuscode: {404 if missed else 503}"
    if fields(probe.get("tcpSocket")):
        port = _port(container, fields(probe.get("tcpSocket")))
        return f"dial tcp {address}:{port}: connect: connection refused"
    if fields(probe.get("grpc")):
        return 'service unhealthy (responded with "NOT_SERVING")'
    return ""


def _misses(container: Container, probe: Object) -> Literal["", "port", "path"]:
    """Does the probe use a port without a listener, or a path that the program does not serve?"""
    web, served = fields(probe.get("httpGet")), container.part.serves
    action = web or fields(probe.get("tcpSocket"))
    if not action or not served:
        return ""
    port = str(_port(container, action))
    paths = [place.partition("/") for place in served if place.partition("/")[0] == port]
    if not paths:
        return "port"
    anywhere = not web or any(not slash for _, slash, _ in paths)
    wanted = text(web.get("path"), "/").partition("?")[0].lstrip("/")
    return "" if anywhere or any(path == wanted for _, _, path in paths) else "path"


def _port(container: Container, action: Object) -> int:
    """A port by its number, or by the name that the container gives it."""
    wanted = action.get("port")
    if not isinstance(wanted, str):
        return integer(wanted)
    ports = container.spec.get("ports")
    for raw in ports if isinstance(ports, list) else []:
        if text(fields(raw).get("name")) == wanted:
            return integer(fields(raw).get("containerPort"))
    return 0
