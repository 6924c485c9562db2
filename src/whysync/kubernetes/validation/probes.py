"""Probes and lifecycle handlers."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.scalars import not_negative, port_number_or_name

_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES = ("HTTP", "HTTPS")


def probes(container: Object, path: str) -> Problems:
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(field)
        if not isinstance(probe, dict):
            continue
        where = f"{path}.{field}"
        yield from _probe(probe, where)
        if field == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                detail = "must not be set for readinessProbes"
                yield invalid(f"{where}.terminationGracePeriodSeconds", grace, detail)
        elif integer(probe.get("successThreshold")) != 1:
            yield invalid(f"{where}.successThreshold", integer(probe.get("successThreshold")), "must be 1")


def lifecycle(container: Object, path: str, spec: Object) -> Problems:
    hooks = fields(container.get("lifecycle"))
    grace = spec.get("terminationGracePeriodSeconds")
    for field in ("postStart", "preStop"):
        if isinstance(hooks.get(field), dict):
            handlers = ("exec", "httpGet", "tcpSocket", "sleep")
            yield from _handler(fields(hooks.get(field)), f"{path}.lifecycle.{field}", handlers, grace)
    if hooks.get("stopSignal") is not None and spec.get("os") is None:
        detail = "may not be set for containers with empty `spec.os.name`"
        yield forbidden(f"{path}.lifecycle.stopSignal", detail)


def _probe(probe: Object, path: str) -> Problems:
    yield from _handler(probe, path, ("exec", "httpGet", "tcpSocket", "grpc"), None)
    yield from not_negative(probe, path, *_SECONDS)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and integer(grace) <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _handler(handler: Object, path: str, known: tuple[str, ...], grace: Json) -> Problems:
    taken = False
    for kind in known:
        if not isinstance(handler.get(kind), dict):
            continue
        if taken:
            yield forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")
            continue
        taken = True
        yield from _action(kind, fields(handler.get(kind)), f"{path}.{kind}", grace)
    if not taken:
        yield required(path, "must specify a handler type")


def _action(kind: str, action: Object, path: str, grace: Json) -> Problems:
    match kind:
        case "exec":
            if not items(action.get("command")):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _http_get(action, path)
        case "sleep":
            seconds = integer(action.get("seconds"))
            if grace is not None and not 0 <= seconds <= integer(grace):
                detail = (
                    f"must be non-negative and less than terminationGracePeriodSeconds ({integer(grace)})"
                )
                yield invalid(path, seconds, detail)
        case _:
            yield from port_number_or_name(action.get("port"), f"{path}.port")


def _http_get(action: Object, path: str) -> Problems:
    if not text(action.get("path")):
        yield required(f"{path}.path")
    yield from port_number_or_name(action.get("port"), f"{path}.port")
    scheme = text(action.get("scheme"))
    if scheme not in _SCHEMES:
        yield unsupported(f"{path}.scheme", scheme, _SCHEMES)
    for header in items(action.get("httpHeaders")):
        name = text(fields(header).get("name"))
        yield from each(f"{path}.httpHeaders", name, names.header_name(name))
