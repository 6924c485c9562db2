"""Services: ports, addresses, traffic policies, changes of the type.

Mirrors `core/validation`, Kubernetes 1.36. The caller has already done what the server does before it
validates an update: keep the old clusterIP and node ports where the new object has none, release them where
the type has none.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
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
from whysync.kubernetes.validation.scalars import (
    parse_ip_sloppy,
    validate_cidr_for_legacy_field,
    validate_dns_label,
    validate_endpoint_ip,
    validate_enum,
    validate_ip_for_legacy_field,
    validate_optional_enum,
    validate_port_num_or_name,
    validate_required,
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_AFFINITY = "when session affinity type is ClientIP"
_LONGEST_AFFINITY = 86400
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_NODE_PORTS = range(30000, 32768)
_ONCE = "may not change once set"


def validate_service_create(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_label)
    yield from _validate_service(obj, None)


def normalize_cluster_ips(obj: Object) -> Object:
    """The Service with `clusterIPs` set from `clusterIP`. Mirrors `NormalizeClusterIPs`."""
    spec = fields(obj.get("spec"))
    if not text(spec.get("clusterIP")) or items(spec.get("clusterIPs")):
        return obj
    return {**obj, "spec": {**spec, "clusterIPs": [spec["clusterIP"]]}}


def validate_service_allocation(old: Object | None, new: Object) -> Problems:
    """Checks before addresses and ports are allocated; an error here is the only one reported.

    Mirrors `initIPFamilyFields` and the allocator of node ports with the server's default range. Differs:
    the address families of the cluster and the allocated addresses are not known here.
    """
    old_spec, new_spec = fields(fields(old).get("spec")), fields(new.get("spec"))
    if new_spec.get("type") != "ExternalName":
        errors = tuple(_validate_cluster_ips_related_fields(new_spec, items(old_spec.get("clusterIPs"))))
        yield from errors
        if errors:
            return
    if new_spec.get("type") not in ("NodePort", "LoadBalancer"):
        return
    old_node_ports = {integer(fields(item).get("nodePort")) for item in items(old_spec.get("ports"))}
    for index, item in enumerate(items(new_spec.get("ports"))):
        port = integer(fields(item).get("nodePort"))
        if port and port not in old_node_ports and port not in _NODE_PORTS:
            detail = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(f"spec.ports[{index}].nodePort", port, detail)
            return


def validate_service_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    if "ExternalName" not in (old_spec.get("type"), new_spec.get("type")):
        yield from _validate_upgrade_downgrade_cluster_ips(old_spec, new_spec)
        yield from _validate_upgrade_downgrade_ip_families(old_spec, new_spec)
    if old_spec.get("type") == "LoadBalancer" == new_spec.get("type"):
        balancer_class = new_spec.get("loadBalancerClass")
        if balancer_class != old_spec.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", balancer_class, _ONCE)
    yield from _validate_load_balancer_class(new_spec)
    if _needs_health_check(old_spec) and _needs_health_check(new_spec):
        port = integer(new_spec.get("healthCheckNodePort"))
        if port != integer(old_spec.get("healthCheckNodePort")):
            yield forbidden("spec.healthCheckNodePort", "field is immutable")
    yield from _validate_service(new, old_spec)


def _validate_service(obj: Object, old_spec: Object | None) -> Problems:
    spec = fields(obj.get("spec"))
    kind, ports = text(spec.get("type")), [fields(item) for item in items(spec.get("ports"))]
    headless = _is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    yield from _validate_service_type(spec, kind, headless=headless)
    yield from _validate_service_ports(ports)
    yield from metadata.validate_labels(spec.get("selector"), "spec.selector")
    yield from _validate_session_affinity(spec)
    for index, item in enumerate(items(spec.get("externalIPs"))):
        errors = tuple(
            validate_ip_for_legacy_field(
                text(item), f"spec.externalIPs[{index}]", items(fields(old_spec).get("externalIPs"))
            )
        )
        yield from errors or validate_endpoint_ip(text(item), f"spec.externalIPs[{index}]")
    yield from validate_enum(kind, "spec.type", _TYPES)
    yield from _validate_port_conflicts(ports, kind)
    yield from _validate_load_balancer_source_ranges(obj, spec, kind, fields(old_spec))
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", _WITH_BALANCER)
    yield from _validate_load_balancer_class(spec)
    yield from _validate_traffic_policies(spec, kind)


def _validate_service_type(spec: Object, kind: str, *, headless: bool) -> Problems:
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = text(spec.get("externalName")).removesuffix(".")
    yield from validate_required(name, "spec.externalName", names.dns_subdomain)


def _validate_service_ports(ports: list[Object]) -> Problems:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", text(port.get("name"))
        if name:
            yield from validate_dns_label(name, f"{path}.name")
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield required(f"{path}.name")
        number = integer(port.get("port"))
        yield from each(f"{path}.port", number, names.port_number(number))
        yield from validate_enum(port.get("protocol"), f"{path}.protocol", ("SCTP", "TCP", "UDP"))
        yield from validate_port_num_or_name(port.get("targetPort"), f"{path}.targetPort")
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from each(f"{path}.appProtocol", text(protocol), names.qualified_name(text(protocol)))


def _validate_port_conflicts(ports: list[Object], kind: str) -> Problems:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if integer(port.get("nodePort")):
                detail = "may not be used when `type` is 'ClusterIP'"
                yield forbidden(f"spec.ports[{index}].nodePort", detail)
    on_nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        number = integer(port.get("nodePort"))
        key = (text(port.get("protocol")), number)
        if number and key in on_nodes:
            yield duplicate(f"spec.ports[{index}].nodePort", number)
        on_nodes.add(key)
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (text(port.get("protocol")), integer(port.get("port")))
        if key in seen:
            bare: Object = {"protocol": key[0], "port": key[1]}
            yield duplicate(f"spec.ports[{index}]", internal(bare, "core/v1.ServicePort"))
        seen.add(key)


def _validate_session_affinity(spec: Object) -> Problems:
    kind, config = text(spec.get("sessionAffinity")), spec.get("sessionAffinityConfig")
    yield from validate_enum(kind, "spec.sessionAffinity", ("ClientIP", "None"))
    path = "spec.sessionAffinityConfig"
    if kind == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")
    if kind != "ClientIP":
        return
    client = fields(config).get("clientIP")
    seconds = fields(client).get("timeoutSeconds")
    if config is None:
        yield required(path, _AFFINITY)
    elif client is None:
        yield required(f"{path}.clientIP", _AFFINITY)
    elif seconds is None:
        yield required(f"{path}.clientIP.timeoutSeconds", _AFFINITY)
    elif not 0 < integer(seconds) <= _LONGEST_AFFINITY:
        detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        yield invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail)


def _validate_cluster_ips_related_fields(spec: Object, accepted: list[Json]) -> Problems:
    address, addresses = text(spec.get("clusterIP")), items(spec.get("clusterIPs"))
    path = "spec.clusterIPs"
    if address and not addresses:
        yield required(path)
    elif address and addresses[0] != address:
        yield invalid(path, addresses, "first value must match `clusterIP`")
    elif not address and addresses:
        yield invalid(path, addresses, "must be empty when `clusterIP` is not specified")
    families = [text(item) for item in items(spec.get("ipFamilies"))]
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            yield unsupported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    yield from validate_optional_enum(spec.get("ipFamilyPolicy"), "spec.ipFamilyPolicy", policies)
    has_invalid_ip = False
    for index, item in enumerate(addresses):
        if index == 0 and item == "None":
            if len(addresses) > 1:
                has_invalid_ip = True
                yield invalid(path, addresses, "'None' must be the first and only value")
            continue
        errors = tuple(validate_ip_for_legacy_field(text(item), f"{path}[{index}]", accepted))
        has_invalid_ip = has_invalid_ip or bool(errors)
        yield from errors
    if len(addresses) > 2:
        yield invalid(path, addresses, "may only hold up to 2 values")
    if has_invalid_ip:
        return
    if len(addresses) > 1 and len({_is_v6(item) for item in addresses}) < 2:
        yield invalid(path, addresses, "may specify no more than one IP for each IP family")
    if _is_headless(spec):
        return
    for index, (item, family) in enumerate(zip(addresses, families, strict=False)):
        if family in ("IPv4", "IPv6") and _is_v6(item) != (family == "IPv6"):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{path}[{index}]", text(item), detail)


def _validate_load_balancer_source_ranges(obj: Object, spec: Object, kind: str, old_spec: Object) -> Problems:
    ranges, annotations = (
        items(spec.get("loadBalancerSourceRanges")),
        fields(metadata.meta(obj).get("annotations")),
    )
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            yield forbidden(path, _WITH_BALANCER)
        accepted = [text(item).strip() for item in items(old_spec.get("loadBalancerSourceRanges"))]
        for index, item in enumerate(ranges):
            yield from validate_cidr_for_legacy_field(text(item).strip(), f"{path}[{index}]", accepted)
    elif _RANGES in annotations:
        path = f"metadata.annotations[{_RANGES}]"
        if kind != "LoadBalancer":
            yield forbidden(path, _WITH_BALANCER)
        for item in (
            text(annotations[_RANGES]).strip().split(",") if text(annotations[_RANGES]).strip() else ()
        ):
            yield from validate_cidr_for_legacy_field(item.strip(), path)


def _validate_load_balancer_class(spec: Object) -> Problems:
    balancer_class = spec.get("loadBalancerClass")
    if balancer_class is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from each(
            "spec.loadBalancerClass", text(balancer_class), names.qualified_name(text(balancer_class))
        )
    else:
        yield forbidden("spec.loadBalancerClass", _WITH_BALANCER)


def _validate_traffic_policies(spec: Object, kind: str) -> Problems:
    policy = text(spec.get("externalTrafficPolicy"))
    is_external = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(items(spec.get("externalIPs")))
    )
    if is_external:
        yield from validate_enum(policy, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    elif policy:
        detail = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, detail)
    port = integer(spec.get("healthCheckNodePort"))
    if port and not _needs_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", port, detail)
    elif port:
        yield from each("spec.healthCheckNodePort", port, names.port_number(port))
    internal_policy = spec.get("internalTrafficPolicy")
    if internal_policy is None and kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        yield required("spec.internalTrafficPolicy")
    yield from validate_optional_enum(internal_policy, "spec.internalTrafficPolicy", ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    yield from validate_optional_enum(distribution, "spec.trafficDistribution", _DISTRIBUTIONS, sort=False)


def _validate_upgrade_downgrade_cluster_ips(old_spec: Object, new_spec: Object) -> Problems:
    if _is_headless(old_spec) and _is_headless(new_spec):
        return
    old_ips, new_ips = items(old_spec.get("clusterIPs")), items(new_spec.get("clusterIPs"))
    bad_value = new_ips if isinstance(new_spec.get("clusterIPs"), list) else None
    if len(old_ips) == len(new_ips):
        for index, (old_ip, new_ip) in enumerate(zip(old_ips, new_ips, strict=True)):
            if old_ip != new_ip:
                yield invalid(f"spec.clusterIPs[{index}]", bad_value, _ONCE)
        return
    if not new_ips:
        yield invalid("spec.clusterIPs[0]", bad_value, "primary clusterIP can not be unset")
    elif old_ips and old_ips[0] != new_ips[0]:
        yield invalid("spec.clusterIPs[0]", bad_value, _ONCE)
    if len(old_ips) > len(new_ips) == 1 and new_spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid("spec.ipFamilyPolicy", new_spec.get("ipFamilyPolicy"), detail)


def _validate_upgrade_downgrade_ip_families(old_spec: Object, new_spec: Object) -> Problems:
    if _is_headless(old_spec) or _is_headless(new_spec):
        return
    old_families, new_families = items(old_spec.get("ipFamilies")), items(new_spec.get("ipFamilies"))
    if len(old_families) == len(new_families):
        for old_family, new_family in zip(old_families, new_families, strict=True):
            if old_family != new_family:
                yield invalid("spec.ipFamilies[0]", new_families, _ONCE)
        return
    if old_families and new_families and old_families[0] != new_families[0]:
        yield invalid("spec.ipFamilies[0]", new_spec.get("clusterIPs"), _ONCE)
    if len(old_families) > len(new_families) == 1 and new_spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid("spec.ipFamilyPolicy", new_spec.get("ipFamilyPolicy"), detail)


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _is_headless(spec: Object) -> bool:
    return items(spec.get("clusterIPs")) == ["None"]


def _is_v6(address: Json) -> bool:
    parsed = parse_ip_sloppy(text(address))
    return parsed is not None and parsed.version == 6
