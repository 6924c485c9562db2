"""Containers: name, image, ports, environment, mounts, probes. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Collection

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.environment import environment
from whysync.kubernetes.validation.field_error import (
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.mounts import devices, mounts
from whysync.kubernetes.validation.resources import container_resources
from whysync.kubernetes.validation.scalars import dns_label, not_negative, one_of, port_number_or_name
from whysync.kubernetes.validation.security import container_security

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTARTS = ("Always", "Never", "OnFailure")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


def containers(spec: Object, path: str, volumes: Object) -> Problems:
    container_list = items(spec.get("containers"))
    if not container_list:
        yield required(path)
        return
    claims = claim_names(spec)
    seen: set[str] = set()
    for index, item in enumerate(container_list):
        container, where = fields(item), f"{path}[{index}]"
        yield from _common(container, where, spec, volumes, claims)
        name = text(container.get("name"))
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.add(name)
        yield from lifecycle(container, where, spec)
        yield from probes(container, where)
        yield from _restart(container, where)
    yield from _host_ports(container_list, path)


def init_containers(spec: Object, path: str, volumes: Object) -> Problems:
    claims = claim_names(spec)
    seen = {text(fields(item).get("name")) for item in items(spec.get("containers"))}
    for index, item in enumerate(items(spec.get("initContainers"))):
        container, where = fields(item), f"{path}[{index}]"
        yield from _common(container, where, spec, volumes, claims)
        yield from _restart(container, where)
        name = text(container.get("name"))
        if name in seen:
            yield duplicate(f"{where}.name", name)
        elif name:
            seen.add(name)
        if container.get("restartPolicy") == "Always":
            yield from lifecycle(container, where, spec)
            yield from probes(container, where)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                yield forbidden(f"{where}.{field}", _ONLY_SIDECARS)


def claim_names(spec: Object) -> frozenset[str]:
    return frozenset(text(fields(item).get("name")) for item in items(spec.get("resourceClaims")))


def _common(container: Object, path: str, spec: Object, volumes: Object, claims: Collection[str]) -> Problems:
    name = text(container.get("name"))
    if name:
        yield from dns_label(name, f"{path}.name")
    else:
        yield required(f"{path}.name")
    if not text(container.get("image")):
        yield required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    policy = container.get("terminationMessagePolicy")
    yield from one_of(policy, f"{path}.terminationMessagePolicy", policies, sort=False)
    yield from _ports(items(container.get("ports")), f"{path}.ports")
    yield from environment(container, path)
    yield from mounts(container, f"{path}.volumeMounts", volumes)
    yield from devices(container, f"{path}.volumeDevices", volumes)
    pulls = ("Always", "IfNotPresent", "Never")
    yield from one_of(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", pulls)
    yield from container_resources(container.get("resources"), f"{path}.resources", claims)
    yield from _resize(container.get("resizePolicy"), f"{path}.resizePolicy", text(spec.get("restartPolicy")))
    yield from container_security(container.get("securityContext"), f"{path}.securityContext")


def _ports(ports: list[Json], path: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(ports):
        port, where = fields(item), f"{path}[{index}]"
        name = text(port.get("name"))
        if name:
            wrong = tuple(names.port_name(name))
            yield from each(f"{where}.name", name, wrong)
            if not wrong and name in seen:
                yield duplicate(f"{where}.name", name)
            elif not wrong:
                seen.add(name)
        inside, outside = integer(port.get("containerPort")), integer(port.get("hostPort"))
        if inside == 0:
            yield required(f"{where}.containerPort")
        else:
            yield from each(f"{where}.containerPort", inside, names.port_number(inside))
        if outside != 0:
            yield from each(f"{where}.hostPort", outside, names.port_number(outside))
        yield from one_of(port.get("protocol"), f"{where}.protocol", _PROTOCOLS)


def _host_ports(container_list: list[Json], path: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(container_list):
        for number, entry in enumerate(items(fields(item).get("ports"))):
            port = fields(entry)
            if not integer(port.get("hostPort")):
                continue
            key = f"{text(port.get('protocol'))}/{text(port.get('hostIP'))}/{integer(port.get('hostPort'))}"
            if key in seen:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", key)
            seen.add(key)


def _restart(container: Object, path: str) -> Problems:
    policy = container.get("restartPolicy")
    if policy is None:
        if items(container.get("restartPolicyRules")):
            yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        yield unsupported(f"{path}.restartPolicy", policy, _RESTARTS)


def _resize(policies: Json | Missing, path: str, restart: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(items(policies)):
        resource, policy = (text(fields(item).get(field)) for field in ("resourceName", "restartPolicy"))
        if resource in seen:
            yield duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        yield from one_of(resource, path, ("cpu", "memory"))
        yield from one_of(policy, path, ("NotRequired", "RestartContainer"))
        if restart == "Never" and policy != "NotRequired":
            yield invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


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
