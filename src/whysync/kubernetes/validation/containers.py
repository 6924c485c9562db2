"""Containers: name, image, ports, environment, mounts, probes. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Collection

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.environment import validate_env
from whysync.kubernetes.validation.field_error import (
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.mounts import (
    validate_local_descending_path,
    validate_volume_devices,
    validate_volume_mounts,
)
from whysync.kubernetes.validation.resources import validate_container_resource_requirements
from whysync.kubernetes.validation.scalars import (
    validate_enum,
    validate_nonnegative_fields,
    validate_optional_enum,
    validate_port_num_or_name,
    validate_required,
    validate_single_source,
)

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTARTS = ("Always", "Never", "OnFailure")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


def validate_containers(spec: Object, path: str, volumes: Object) -> Problems:
    container_list = items(spec.get("containers"))
    if not container_list:
        yield required(path)
        return
    claims = _resource_claim_names(spec)
    seen: set[str] = set()
    for index, item in enumerate(container_list):
        container, item_path = fields(item), f"{path}[{index}]"
        yield from _validate_container_common(container, item_path, spec, volumes, claims)
        name = text(container.get("name"))
        if name in seen:
            yield duplicate(f"{item_path}.name", name)
        seen.add(name)
        yield from _validate_lifecycle(container, item_path, spec)
        yield from _validate_probes(container, item_path)
        yield from _validate_container_restart_policy(container, item_path)
    yield from _validate_host_port_conflicts(container_list, path)


def validate_init_containers(spec: Object, path: str, volumes: Object) -> Problems:
    claims = _resource_claim_names(spec)
    seen = {text(fields(item).get("name")) for item in items(spec.get("containers"))}
    for index, item in enumerate(items(spec.get("initContainers"))):
        container, item_path = fields(item), f"{path}[{index}]"
        yield from _validate_container_common(container, item_path, spec, volumes, claims)
        yield from _validate_container_restart_policy(container, item_path)
        name = text(container.get("name"))
        if name in seen:
            yield duplicate(f"{item_path}.name", name)
        elif name:
            seen.add(name)
        if container.get("restartPolicy") == "Always":
            yield from _validate_lifecycle(container, item_path, spec)
            yield from _validate_probes(container, item_path)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                yield forbidden(f"{item_path}.{field}", _ONLY_SIDECARS)


def _resource_claim_names(spec: Object) -> frozenset[str]:
    return frozenset(text(fields(item).get("name")) for item in items(spec.get("resourceClaims")))


def _validate_container_common(
    container: Object, path: str, spec: Object, volumes: Object, claims: Collection[str]
) -> Problems:
    name = text(container.get("name"))
    yield from validate_required(name, f"{path}.name", names.dns_label)
    if not text(container.get("image")):
        yield required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    policy = container.get("terminationMessagePolicy")
    yield from validate_enum(policy, f"{path}.terminationMessagePolicy", policies, sort=False)
    yield from _validate_container_ports(items(container.get("ports")), f"{path}.ports")
    yield from validate_env(container, path)
    yield from validate_volume_mounts(container, f"{path}.volumeMounts", volumes)
    yield from validate_volume_devices(container, f"{path}.volumeDevices", volumes)
    pull_policies = ("Always", "IfNotPresent", "Never")
    yield from validate_enum(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", pull_policies)
    yield from validate_container_resource_requirements(
        container.get("resources"), f"{path}.resources", claims
    )
    yield from _validate_resize_policy(
        container.get("resizePolicy"), f"{path}.resizePolicy", text(spec.get("restartPolicy"))
    )
    yield from validate_security_context(container.get("securityContext"), f"{path}.securityContext")


def _validate_container_ports(ports: list[Json], path: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(ports):
        port, item_path = fields(item), f"{path}[{index}]"
        name = text(port.get("name"))
        if name:
            errors = tuple(names.port_name(name))
            yield from each(f"{item_path}.name", name, errors)
            if not errors and name in seen:
                yield duplicate(f"{item_path}.name", name)
            elif not errors:
                seen.add(name)
        container_port, host_port = integer(port.get("containerPort")), integer(port.get("hostPort"))
        if container_port == 0:
            yield required(f"{item_path}.containerPort")
        else:
            yield from each(f"{item_path}.containerPort", container_port, names.port_number(container_port))
        if host_port != 0:
            yield from each(f"{item_path}.hostPort", host_port, names.port_number(host_port))
        yield from validate_enum(port.get("protocol"), f"{item_path}.protocol", _PROTOCOLS)


def _validate_host_port_conflicts(container_list: list[Json], path: str) -> Problems:
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


def _validate_container_restart_policy(container: Object, path: str) -> Problems:
    policy = container.get("restartPolicy")
    if policy is None:
        if items(container.get("restartPolicyRules")):
            yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        yield unsupported(f"{path}.restartPolicy", policy, _RESTARTS)


def _validate_resize_policy(policies: Json | Missing, path: str, restart: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(items(policies)):
        resource, policy = (text(fields(item).get(field)) for field in ("resourceName", "restartPolicy"))
        if resource in seen:
            yield duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        yield from validate_enum(resource, path, ("cpu", "memory"))
        yield from validate_enum(policy, path, ("NotRequired", "RestartContainer"))
        if restart == "Never" and policy != "NotRequired":
            yield invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES = ("HTTP", "HTTPS")


def _validate_probes(container: Object, path: str) -> Problems:
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(field)
        if not isinstance(probe, dict):
            continue
        probe_path = f"{path}.{field}"
        yield from _validate_probe(probe, probe_path)
        if field == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                detail = "must not be set for readinessProbes"
                yield invalid(f"{probe_path}.terminationGracePeriodSeconds", grace, detail)
        elif integer(probe.get("successThreshold")) != 1:
            yield invalid(
                f"{probe_path}.successThreshold", integer(probe.get("successThreshold")), "must be 1"
            )


def _validate_lifecycle(container: Object, path: str, spec: Object) -> Problems:
    hooks = fields(container.get("lifecycle"))
    grace = spec.get("terminationGracePeriodSeconds")
    for field in ("postStart", "preStop"):
        if isinstance(hooks.get(field), dict):
            handlers = ("exec", "httpGet", "tcpSocket", "sleep")
            yield from _validate_handler(
                fields(hooks.get(field)), f"{path}.lifecycle.{field}", handlers, grace
            )
    if hooks.get("stopSignal") is not None and spec.get("os") is None:
        detail = "may not be set for containers with empty `spec.os.name`"
        yield forbidden(f"{path}.lifecycle.stopSignal", detail)


def _validate_probe(probe: Object, path: str) -> Problems:
    yield from _validate_handler(probe, path, ("exec", "httpGet", "tcpSocket", "grpc"), None)
    yield from validate_nonnegative_fields(probe, path, *_SECONDS)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and integer(grace) <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _validate_handler(handler: Object, path: str, handler_types: tuple[str, ...], grace: Json) -> Problems:
    def validate(kind: str, action: Object) -> Problems:
        return _validate_action(kind, action, f"{path}.{kind}", grace)

    yield from validate_single_source(handler, path, handler_types, "handler", validate)


def _validate_action(kind: str, action: Object, path: str, grace: Json) -> Problems:
    match kind:
        case "exec":
            if not items(action.get("command")):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _validate_http_get_action(action, path)
        case "sleep":
            seconds = integer(action.get("seconds"))
            if grace is not None and not 0 <= seconds <= integer(grace):
                detail = (
                    f"must be non-negative and less than terminationGracePeriodSeconds ({integer(grace)})"
                )
                yield invalid(path, seconds, detail)
        case _:
            yield from validate_port_num_or_name(action.get("port"), f"{path}.port")


def _validate_http_get_action(action: Object, path: str) -> Problems:
    if not text(action.get("path")):
        yield required(f"{path}.path")
    yield from validate_port_num_or_name(action.get("port"), f"{path}.port")
    scheme = text(action.get("scheme"))
    if scheme not in _SCHEMES:
        yield unsupported(f"{path}.scheme", scheme, _SCHEMES)
    for header in items(action.get("httpHeaders")):
        name = text(fields(header).get("name"))
        yield from each(f"{path}.httpHeaders", name, names.header_name(name))


# Security contexts of pods and containers.
#
# Differs: privileged containers, which a flag of the server can forbid, are allowed; the options for
# Windows and AppArmor profiles are not validated.


_LARGEST_ID = 2**31 - 1
_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"


def validate_security_context(security_context: Json | Missing, path: str) -> Problems:
    context = fields(security_context)
    if not context:
        return
    yield from _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    yield from validate_optional_enum(context.get("procMount"), f"{path}.procMount", ("Default", "Unmasked"))
    yield from _validate_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        bad_value = internal(context, "core/v1.SecurityContext")
        if context.get("privileged") is True:
            yield invalid(path, bad_value, f"{_ESCALATION} `privileged` to true")
        if "CAP_SYS_ADMIN" in items(fields(context.get("capabilities")).get("add")):
            yield invalid(path, bad_value, f"{_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN")


def validate_pod_security_context(spec: Object, path: str) -> Problems:
    context = fields(spec.get("securityContext"))
    yield from _validate_ids(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(items(context.get("supplementalGroups"))):
        yield from _validate_id(integer(group), f"{path}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", value=True, detail=detail)
    policies = ("Always", "OnRootMismatch")
    yield from validate_optional_enum(
        context.get("fsGroupChangePolicy"), f"{path}.fsGroupChangePolicy", policies
    )
    yield from _validate_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile")
    group_policies = ("Merge", "Strict")
    field = "supplementalGroupsPolicy"
    yield from validate_optional_enum(context.get(field), f"{path}.{field}", group_policies)


def _validate_ids(context: Object, path: str, names: tuple[str, ...]) -> Problems:
    for name in names:
        if context.get(name) is not None:
            yield from _validate_id(integer(context.get(name)), f"{path}.{name}")


def _validate_id(value: int, path: str) -> Problems:
    if not 0 <= value <= _LARGEST_ID:
        yield invalid(path, value, f"must be between 0 and {_LARGEST_ID}, inclusive")


def _validate_seccomp_profile(seccomp_profile: Json | Missing, path: str) -> Problems:
    if not isinstance(seccomp_profile, dict):
        return
    kind, profile = text(seccomp_profile.get("type")), seccomp_profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in ("Localhost", "RuntimeDefault", "Unconfined"):
        yield unsupported(f"{path}.type", kind, ("Localhost", "RuntimeDefault", "Unconfined"))
    if kind == "Localhost":
        if profile is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from validate_local_descending_path(text(profile), f"{path}.localhostProfile")
    elif profile is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield invalid(f"{path}.localhostProfile", internal(seccomp_profile, "core/v1.SeccompProfile"), detail)
