"""Pods and pod templates. Mirrors `core/validation`, Kubernetes 1.36.

Differs: the parts about Windows, sysctls, resource claims and ephemeral containers are left out.
"""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.containers import containers, init_containers
from whysync.kubernetes.validation.field_error import Problems, duplicate, each, forbidden, invalid, required
from whysync.kubernetes.validation.metadata import NameForm
from whysync.kubernetes.validation.placement import affinity, spread, tolerations
from whysync.kubernetes.validation.resources import container_resources, pod_resources
from whysync.kubernetes.validation.scalars import ip_address, one_of
from whysync.kubernetes.validation.security import pod_security
from whysync.kubernetes.validation.volumes import volumes

_LARGEST = 2**31 - 1
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PADDED = "must not have leading or trailing whitespace"


def pod(obj: Object) -> Problems:
    """A Pod by itself, new or changed."""
    spec = fields(obj.get("spec"))
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _pod_annotations(metadata.meta(obj), spec, "metadata.annotations")
    yield from pod_spec(spec, "spec", is_pod=True)
    for field in ("containers", "initContainers"):
        for index, item in enumerate(items(spec.get(field))):
            image = text(fields(item).get("image"))
            if image != image.strip():
                yield invalid(f"spec.{field}[{index}].image", image, _PADDED)


def pod_on_create(obj: Object) -> Problems:
    spec = fields(obj.get("spec"))
    yield from pod(obj)
    if items(spec.get("ephemeralContainers")):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if text(spec.get("nodeName")) and items(spec.get("schedulingGates")):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def template(pod_template: Json | Missing, path: str) -> Problems:
    """The pod template of a workload. As upstream, errors name its labels `template.labels`."""
    held = fields(pod_template)
    labeled, spec = fields(held.get("metadata")), fields(held.get("spec"))
    yield from metadata.labels(labeled.get("labels"), f"{path}.labels")
    yield from metadata.annotation_map(labeled.get("annotations"), f"{path}.annotations")
    yield from _pod_annotations(labeled, spec, f"{path}.annotations")
    yield from pod_spec(spec, f"{path}.spec")
    if items(spec.get("ephemeralContainers")):
        yield forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def pod_spec(spec: Object, path: str, *, is_pod: bool = False) -> Problems:
    if spec.get("terminationGracePeriodSeconds") is None:
        yield required(f"{path}.terminationGracePeriodSeconds")
    usable, wrong = volumes(spec, f"{path}.volumes")
    yield from wrong
    yield from containers(spec, f"{path}.containers", usable)
    yield from init_containers(spec, f"{path}.initContainers", usable)
    if spec.get("resources") is not None:
        yield from pod_resources(spec.get("resources"), f"{path}.resources")
    if spec.get("hostNetwork") is True:
        yield from _host_network(spec, path, is_pod=is_pod)
    restarts = ("Always", "OnFailure", "Never")
    yield from one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", restarts, sort=False)
    yield from one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES, sort=False)
    yield from metadata.labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from pod_security(spec, f"{path}.securityContext")
    yield from affinity(spec.get("affinity"), f"{path}.affinity")
    yield from _dns_config(spec, f"{path}.dnsConfig")
    yield from _gates(spec, path)
    yield from spread(spec.get("topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    yield from _names(spec, path, ("serviceAccountName", "nodeName"), names.dns_subdomain)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= integer(deadline) <= _LARGEST:
        detail = f"must be between 1 and {_LARGEST}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", integer(deadline), detail)
    yield from _names(spec, path, ("hostname", "subdomain"), names.dns_label)
    yield from tolerations(spec.get("tolerations"), f"{path}.tolerations")
    yield from _host_aliases(spec.get("hostAliases"), f"{path}.hostAliases")
    yield from _names(spec, path, ("priorityClassName", "runtimeClassName"), names.dns_subdomain)
    if spec.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        yield from one_of(spec.get("preemptionPolicy"), f"{path}.preemptionPolicy", policies, sort=False)
    if spec.get("overhead") is not None:
        yield from container_resources({"limits": spec.get("overhead")}, f"{path}.overhead")


def _pod_annotations(labeled: Object, spec: Object, path: str) -> Problems:
    annotations = fields(labeled.get("annotations"))
    mirror, cost = "kubernetes.io/config.mirror", "controller.kubernetes.io/pod-deletion-cost"
    if mirror in annotations and not text(spec.get("nodeName")):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{mirror}]", text(annotations[mirror]), detail)
    if cost in annotations and not _is_small_number(text(annotations[cost])):
        yield invalid(f"{path}[{cost}]", text(annotations[cost]), "must be a 32bit integer")


def _is_small_number(value: str) -> bool:
    digits = value.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    return plain and len(digits) < 12 and -(2**31) <= int(value) < 2**31


def _host_network(spec: Object, path: str, *, is_pod: bool) -> Problems:
    for index, item in enumerate(items(spec.get("containers"))):
        for number, entry in enumerate(items(fields(item).get("ports"))):
            outside, inside = (integer(fields(entry).get(field)) for field in ("hostPort", "containerPort"))
            if (is_pod or outside) and outside != inside:
                detail = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{index}].ports[{number}].hostPort", outside, detail)


def _names(spec: Object, path: str, name_fields: tuple[str, ...], form: NameForm) -> Problems:
    for field in name_fields:
        name = text(spec.get(field))
        if name:
            yield from each(f"{path}.{field}", name, form(name))


def _gates(spec: Object, path: str) -> Problems:
    for index, item in enumerate(items(spec.get("readinessGates"))):
        kind = text(fields(item).get("conditionType"))
        yield from each(f"{path}.readinessGates[{index}].conditionType", kind, names.label_key(kind))
    seen: set[str] = set()
    for index, item in enumerate(items(spec.get("schedulingGates"))):
        name = text(fields(item).get("name"))
        yield from each(f"{path}.schedulingGates[{index}]", name, names.label_key(name))
        if name in seen:
            yield duplicate(f"{path}.schedulingGates[{index}]", name)
        seen.add(name)


def _host_aliases(aliases: Json | Missing, path: str) -> Problems:
    for index, item in enumerate(items(aliases)):
        yield from ip_address(text(fields(item).get("ip")), f"{path}[{index}].ip")
        for number, host in enumerate(items(fields(item).get("hostnames"))):
            yield from each(
                f"{path}[{index}].hostnames[{number}]", text(host), names.dns_subdomain(text(host))
            )


def _dns_config(spec: Object, path: str) -> Problems:
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
        yield from ip_address(text(server), f"{path}.nameservers[{index}]")
    searches = [text(item) for item in items(fields(config).get("searches"))]
    if len(searches) > 32:
        yield invalid(f"{path}.searches", list[Json](searches), "must not have more than 32 search paths")
    for index, option in enumerate(items(fields(config).get("options"))):
        if not text(fields(option).get("name")):
            yield required(f"{path}.options[{index}]", "must not be empty")
