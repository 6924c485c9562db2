"""Pods and pod templates. Mirrors `core/validation`, Kubernetes 1.36.

Differs: the parts about Windows, sysctls, resource claims and ephemeral containers are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.containers import (
    validate_containers,
    validate_init_containers,
    validate_pod_security_context,
)
from whysync.kubernetes.validation.field_error import (
    FieldProblem,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
)
from whysync.kubernetes.validation.internal_types import difference, internal, same
from whysync.kubernetes.validation.placement import (
    validate_affinity,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from whysync.kubernetes.validation.resources import (
    validate_container_resource_requirements,
    validate_pod_resource_requirements,
)
from whysync.kubernetes.validation.scalars import validate_enum, validate_ip_for_legacy_field
from whysync.kubernetes.validation.volumes import validate_volumes

_MAX_INT32 = 2**31 - 1
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_SPEC = "core/v1.PodSpec"
_MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_WHITESPACE = "must not have leading or trailing whitespace"


def validate_pod(obj: Object) -> Problems:
    """A Pod, new or changed. Mirrors `ValidatePod`."""
    spec = fields(obj.get("spec"))
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_pod_specific_annotations(metadata.meta(obj), spec, "metadata.annotations")
    yield from _validate_pod_spec(spec, "spec", is_pod=True)
    for field in ("containers", "initContainers"):
        for index, item in enumerate(items(spec.get(field))):
            image = text(fields(item).get("image"))
            if image != image.strip():
                yield invalid(f"spec.{field}[{index}].image", image, _WHITESPACE)


def validate_pod_create(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    yield from validate_pod(obj)
    if items(spec.get("ephemeralContainers")):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if text(spec.get("nodeName")) and items(spec.get("schedulingGates")):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def validate_pod_template_spec(template: Json | Missing, path: str) -> Problems:
    """The pod template of a workload. As upstream, problems of its labels have the path `template.labels`."""
    object_meta, spec = fields(dig(template, "metadata")), fields(dig(template, "spec"))
    yield from metadata.validate_labels(object_meta.get("labels"), f"{path}.labels")
    yield from metadata.validate_annotations(object_meta.get("annotations"), f"{path}.annotations")
    yield from _validate_pod_specific_annotations(object_meta, spec, f"{path}.annotations")
    yield from _validate_pod_spec(spec, f"{path}.spec")
    if items(spec.get("ephemeralContainers")):
        yield forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


_MOST_VALID: Final = 8192
_valid: set[tuple[bool, bytes]] = set()
"""Digests of pod specs without problems: a workload, its ReplicaSets and its Pods have equal ones."""


def _validate_pod_spec(spec: Object, path: str, *, is_pod: bool = False) -> Iterable[FieldProblem]:
    try:
        key = is_pod, blake2b(msgspec.json.encode(spec), digest_size=16).digest()
    except (ValueError, OverflowError):
        return _pod_spec_problems(spec, path, is_pod=is_pod)
    if key in _valid:
        return ()
    problems = list(_pod_spec_problems(spec, path, is_pod=is_pod))
    if not problems:
        if len(_valid) >= _MOST_VALID:
            _valid.clear()
        _valid.add(key)
    return problems


def _pod_spec_problems(spec: Object, path: str, *, is_pod: bool) -> Problems:
    if spec.get("terminationGracePeriodSeconds") is None:
        yield required(f"{path}.terminationGracePeriodSeconds")
    volumes, volume_problems = validate_volumes(spec, f"{path}.volumes")
    yield from volume_problems
    yield from validate_containers(spec, f"{path}.containers", volumes)
    yield from validate_init_containers(spec, f"{path}.initContainers", volumes)
    if spec.get("resources") is not None:
        yield from validate_pod_resource_requirements(spec.get("resources"), f"{path}.resources")
    if spec.get("hostNetwork") is True:
        yield from _validate_host_network_ports(spec, path, is_pod=is_pod)
    restart_policies = ("Always", "OnFailure", "Never")
    yield from validate_enum(spec.get("restartPolicy"), f"{path}.restartPolicy", restart_policies, sort=False)
    yield from validate_enum(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES, sort=False)
    yield from metadata.validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from validate_pod_security_context(spec, f"{path}.securityContext")
    yield from validate_affinity(spec.get("affinity"), f"{path}.affinity")
    yield from _validate_pod_dns_config(spec, f"{path}.dnsConfig")
    yield from _validate_gates(spec, path)
    yield from validate_topology_spread_constraints(
        spec.get("topologySpreadConstraints"), f"{path}.topologySpreadConstraints"
    )
    yield from _validate_name_fields(spec, path, ("serviceAccountName", "nodeName"), names.dns_subdomain)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= integer(deadline) <= _MAX_INT32:
        detail = f"must be between 1 and {_MAX_INT32}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", integer(deadline), detail)
    yield from _validate_name_fields(spec, path, ("hostname", "subdomain"), names.dns_label)
    yield from validate_tolerations(spec.get("tolerations"), f"{path}.tolerations")
    yield from _validate_host_aliases(spec.get("hostAliases"), f"{path}.hostAliases")
    yield from _validate_name_fields(
        spec, path, ("priorityClassName", "runtimeClassName"), names.dns_subdomain
    )
    if spec.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        yield from validate_enum(
            spec.get("preemptionPolicy"), f"{path}.preemptionPolicy", policies, sort=False
        )
    if spec.get("overhead") is not None:
        yield from validate_container_resource_requirements(
            {"limits": spec.get("overhead")}, f"{path}.overhead"
        )


def _validate_pod_specific_annotations(object_meta: Object, spec: Object, path: str) -> Problems:
    annotations = fields(object_meta.get("annotations"))
    mirror, cost = "kubernetes.io/config.mirror", "controller.kubernetes.io/pod-deletion-cost"
    if mirror in annotations and not text(spec.get("nodeName")):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{mirror}]", text(annotations[mirror]), detail)
    if cost in annotations and not _is_int32(text(annotations[cost])):
        yield invalid(f"{path}[{cost}]", text(annotations[cost]), "must be a 32bit integer")


def _is_int32(value: str) -> bool:
    digits = value.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    return plain and len(digits) < 12 and -(2**31) <= int(value) < 2**31


def _validate_host_network_ports(spec: Object, path: str, *, is_pod: bool) -> Problems:
    for index, item in enumerate(items(spec.get("containers"))):
        for number, entry in enumerate(items(fields(item).get("ports"))):
            host_port, container_port = (
                integer(fields(entry).get(field)) for field in ("hostPort", "containerPort")
            )
            if (is_pod or host_port) and host_port != container_port:
                detail = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{index}].ports[{number}].hostPort", host_port, detail)


def _validate_name_fields(
    spec: Object, path: str, name_fields: tuple[str, ...], validate_name: names.NameForm
) -> Problems:
    for field in name_fields:
        name = text(spec.get(field))
        if name:
            yield from each(f"{path}.{field}", name, validate_name(name))


def _validate_gates(spec: Object, path: str) -> Problems:
    for index, item in enumerate(items(spec.get("readinessGates"))):
        kind = text(fields(item).get("conditionType"))
        yield from each(f"{path}.readinessGates[{index}].conditionType", kind, names.qualified_name(kind))
    seen: set[str] = set()
    for index, item in enumerate(items(spec.get("schedulingGates"))):
        name = text(fields(item).get("name"))
        yield from each(f"{path}.schedulingGates[{index}]", name, names.qualified_name(name))
        if name in seen:
            yield duplicate(f"{path}.schedulingGates[{index}]", name)
        seen.add(name)


def _validate_host_aliases(aliases: Json | Missing, path: str) -> Problems:
    for index, item in enumerate(items(aliases)):
        yield from validate_ip_for_legacy_field(text(fields(item).get("ip")), f"{path}[{index}].ip")
        for number, host in enumerate(items(fields(item).get("hostnames"))):
            yield from each(
                f"{path}[{index}].hostnames[{number}]", text(host), names.dns_subdomain(text(host))
            )


def _validate_pod_dns_config(spec: Object, path: str) -> Problems:
    config, servers = spec.get("dnsConfig"), items(fields(spec.get("dnsConfig")).get("nameservers"))
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
            return
    if len(servers) > 3:
        yield invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from validate_ip_for_legacy_field(text(server), f"{path}.nameservers[{index}]")
    searches = [text(item) for item in items(fields(config).get("searches"))]
    if len(searches) > 32:
        yield invalid(f"{path}.searches", list[Json](searches), "must not have more than 32 search paths")
    for index, option in enumerate(items(fields(config).get("options"))):
        if not text(fields(option).get("name")):
            yield required(f"{path}.options[{index}]", "must not be empty")


def validate_pod_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from validate_pod(new)
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    for field in ("containers", "initContainers"):
        if len(items(old_spec.get(field))) != len(items(new_spec.get(field))):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        yield from _validate_images(items(new_spec.get(field)), f"spec.{field}")
    deadline_problems = tuple(
        _validate_active_deadline_update(
            old_spec.get("activeDeadlineSeconds"), new_spec.get("activeDeadlineSeconds")
        )
    )
    yield from deadline_problems
    if deadline_problems and new_spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _validate_only_added_tolerations(old_spec.get("tolerations"), new_spec.get("tolerations"))
    yield from _validate_only_deleted_scheduling_gates(old_spec, new_spec)
    if same(old_spec, new_spec, _SPEC):
        return
    munged = _mungeable_fields_reset(old_spec, new_spec)
    if items(old_spec.get("schedulingGates")):
        yield from _validate_gated_pod_update(old_spec, munged)
    if not same(munged, old_spec, _SPEC):
        spec_diff = difference(internal(old_spec, _SPEC), internal(munged, _SPEC))
        yield forbidden("spec", f"{_MUTABLE}\n{spec_diff}")


def _mungeable_fields_reset(old_spec: Object, new_spec: Object) -> Object:
    """The new spec with the mutable fields of the old one; any difference that is left is forbidden."""
    munged = dict(new_spec)
    for field in ("containers", "initContainers"):
        if field in munged:
            pairs = zip(items(old_spec.get(field)), items(new_spec.get(field)), strict=True)
            munged[field] = [{**fields(new), "image": fields(old).get("image")} for old, new in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged[field] = old_spec.get(field)
    grace = old_spec.get("terminationGracePeriodSeconds")
    if grace is not None and integer(grace) < 0 and new_spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    return munged


def _validate_images(containers: list[Json], path: str) -> Problems:
    for index, item in enumerate(containers):
        image = text(fields(item).get("image"))
        if not image:
            yield required(f"{path}[{index}].image")
        if image != image.strip():
            yield invalid(f"{path}[{index}].image", image, _WHITESPACE)


def _validate_active_deadline_update(old: Json, new: Json) -> Problems:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= integer(new) <= _MAX_INT32:
        yield invalid(path, integer(new), f"must be between 0 and {_MAX_INT32}, inclusive")
    elif old is not None and integer(old) < integer(new):
        yield invalid(path, integer(new), "must be less than or equal to previous value")


def _validate_only_added_tolerations(old: Json | Missing, new: Json | Missing) -> Problems:
    new_tolerations = [_without_seconds(item) for item in items(new)]
    if any(_without_seconds(item) not in new_tolerations for item in items(old)):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", detail)
        return
    yield from validate_tolerations(new, "spec.tolerations")


def _without_seconds(toleration: Json) -> Object:
    toleration_fields = fields(toleration)
    return {
        key: value for key, value in toleration_fields.items() if key != "tolerationSeconds" and value != ""
    }


def _validate_only_deleted_scheduling_gates(old_spec: Object, new_spec: Object) -> Problems:
    old_gates = {text(fields(item).get("name")) for item in items(old_spec.get("schedulingGates"))}
    for index, item in enumerate(items(new_spec.get("schedulingGates"))):
        name = text(fields(item).get("name"))
        if name not in old_gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", detail)


def _validate_gated_pod_update(old_spec: Object, munged: Object) -> Problems:
    """The node selector of a pod with scheduling gates may get more entries."""
    old_selector, new_selector = fields(old_spec.get("nodeSelector")), fields(munged.get("nodeSelector"))
    if old_selector != new_selector and any(
        new_selector.get(key) != value for key, value in old_selector.items()
    ):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", go_map(new_selector), detail)
    munged["nodeSelector"] = old_spec.get("nodeSelector")
