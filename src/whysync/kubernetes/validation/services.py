"""Services: ports, addresses, and the changes of type that are possible.

Mirrors `core/validation`, Kubernetes 1.36. What the server itself does on the way of a change (keep the old
clusterIP and node ports where the new object names none, release them where the type has none) must have
happened before.
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
    cidr,
    dns_label,
    endpoint_ip,
    ip_address,
    one_of,
    optional_one_of,
    parsed_ip,
    port_number_or_name,
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_AFFINITY = "when session affinity type is ClientIP"
_LONGEST_AFFINITY = 86400
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_NODE_PORTS = range(30000, 32768)
_ONCE = "may not change once set"


def service(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_label)
    yield from _service(obj, None)


def with_addresses(obj: Object) -> Object:
    """`clusterIP` is the first of `clusterIPs`; the server sees to it. Mirrors `NormalizeClusterIPs`."""
    spec = fields(obj.get("spec"))
    if not text(spec.get("clusterIP")) or items(spec.get("clusterIPs")):
        return obj
    return {**obj, "spec": {**spec, "clusterIPs": [spec["clusterIP"]]}}


def service_allocation(old: Object | None, new: Object) -> Problems:
    """Checks before addresses and ports are allocated; an error here is the only one reported.

    Mirrors `initIPFamilyFields` and the allocator of node ports with the server's default range. Differs:
    whether the cluster has both families of addresses, and what is taken already, is not known here.
    """
    before, after = fields(fields(old).get("spec")), fields(new.get("spec"))
    if after.get("type") != "ExternalName":
        wrong = tuple(_cluster_ips(after, items(before.get("clusterIPs"))))
        yield from wrong
        if wrong:
            return
    if after.get("type") not in ("NodePort", "LoadBalancer"):
        return
    known = {integer(fields(item).get("nodePort")) for item in items(before.get("ports"))}
    for index, item in enumerate(items(after.get("ports"))):
        port = integer(fields(item).get("nodePort"))
        if port and port not in known and port not in _NODE_PORTS:
            detail = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(f"spec.ports[{index}].nodePort", port, detail)
            return


def service_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    if "ExternalName" not in (before.get("type"), after.get("type")):
        yield from _cluster_ips_kept(before, after)
        yield from _families_kept(before, after)
    if before.get("type") == "LoadBalancer" == after.get("type"):
        balancer_class = after.get("loadBalancerClass")
        if balancer_class != before.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", balancer_class, _ONCE)
    yield from _balancer_class(after)
    if _needs_health_check(before) and _needs_health_check(after):
        port = integer(after.get("healthCheckNodePort"))
        if port != integer(before.get("healthCheckNodePort")):
            yield forbidden("spec.healthCheckNodePort", "field is immutable")
    yield from _service(new, before)


def _service(obj: Object, old: Object | None) -> Problems:
    spec = fields(obj.get("spec"))
    kind, ports = text(spec.get("type")), [fields(item) for item in items(spec.get("ports"))]
    headless = _is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    yield from _type_rules(spec, kind, headless=headless)
    yield from _ports(ports)
    yield from metadata.labels(spec.get("selector"), "spec.selector")
    yield from _session_affinity(spec)
    for index, item in enumerate(items(spec.get("externalIPs"))):
        wrong = tuple(
            ip_address(text(item), f"spec.externalIPs[{index}]", items(fields(old).get("externalIPs")))
        )
        yield from wrong or endpoint_ip(text(item), f"spec.externalIPs[{index}]")
    yield from one_of(kind, "spec.type", _TYPES)
    yield from _port_clashes(ports, kind)
    yield from _source_ranges(obj, spec, kind, fields(old))
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", _WITH_BALANCER)
    yield from _balancer_class(spec)
    yield from _traffic(spec, kind)


def _type_rules(spec: Object, kind: str, *, headless: bool) -> Problems:
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = text(spec.get("externalName")).removesuffix(".")
    if name:
        yield from each("spec.externalName", name, names.dns_subdomain(name))
    else:
        yield required("spec.externalName")


def _ports(ports: list[Object]) -> Problems:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", text(port.get("name"))
        if name:
            yield from dns_label(name, f"{path}.name")
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield required(f"{path}.name")
        number = integer(port.get("port"))
        yield from each(f"{path}.port", number, names.port_number(number))
        yield from one_of(port.get("protocol"), f"{path}.protocol", ("SCTP", "TCP", "UDP"))
        yield from port_number_or_name(port.get("targetPort"), f"{path}.targetPort")
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from each(f"{path}.appProtocol", text(protocol), names.label_key(text(protocol)))


def _port_clashes(ports: list[Object], kind: str) -> Problems:
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


def _session_affinity(spec: Object) -> Problems:
    kind, config = text(spec.get("sessionAffinity")), spec.get("sessionAffinityConfig")
    yield from one_of(kind, "spec.sessionAffinity", ("ClientIP", "None"))
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


def _cluster_ips(spec: Object, known: list[Json]) -> Problems:
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
    yield from optional_one_of(spec.get("ipFamilyPolicy"), "spec.ipFamilyPolicy", policies)
    unreadable = False
    for index, item in enumerate(addresses):
        if index == 0 and item == "None":
            if len(addresses) > 1:
                unreadable = True
                yield invalid(path, addresses, "'None' must be the first and only value")
            continue
        wrong = tuple(ip_address(text(item), f"{path}[{index}]", known))
        unreadable = unreadable or bool(wrong)
        yield from wrong
    if len(addresses) > 2:
        yield invalid(path, addresses, "may only hold up to 2 values")
    if unreadable:
        return
    if len(addresses) > 1 and len({_is_v6(item) for item in addresses}) < 2:
        yield invalid(path, addresses, "may specify no more than one IP for each IP family")
    if _is_headless(spec):
        return
    for index, (item, family) in enumerate(zip(addresses, families, strict=False)):
        if family in ("IPv4", "IPv6") and _is_v6(item) != (family == "IPv6"):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{path}[{index}]", text(item), detail)


def _source_ranges(obj: Object, spec: Object, kind: str, old: Object) -> Problems:
    ranges, annotations = (
        items(spec.get("loadBalancerSourceRanges")),
        fields(metadata.meta(obj).get("annotations")),
    )
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            yield forbidden(path, _WITH_BALANCER)
        known = [text(item).strip() for item in items(old.get("loadBalancerSourceRanges"))]
        for index, item in enumerate(ranges):
            yield from cidr(text(item).strip(), f"{path}[{index}]", known)
    elif _RANGES in annotations:
        path = f"metadata.annotations[{_RANGES}]"
        if kind != "LoadBalancer":
            yield forbidden(path, _WITH_BALANCER)
        for item in (
            text(annotations[_RANGES]).strip().split(",") if text(annotations[_RANGES]).strip() else ()
        ):
            yield from cidr(item.strip(), path)


def _balancer_class(spec: Object) -> Problems:
    balancer_class = spec.get("loadBalancerClass")
    if balancer_class is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from each("spec.loadBalancerClass", text(balancer_class), names.label_key(text(balancer_class)))
    else:
        yield forbidden("spec.loadBalancerClass", _WITH_BALANCER)


def _traffic(spec: Object, kind: str) -> Problems:
    policy = text(spec.get("externalTrafficPolicy"))
    outside = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(items(spec.get("externalIPs")))
    )
    if outside:
        yield from one_of(policy, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    elif policy:
        detail = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, detail)
    port = integer(spec.get("healthCheckNodePort"))
    if port and not _needs_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", port, detail)
    elif port:
        yield from each("spec.healthCheckNodePort", port, names.port_number(port))
    inside = spec.get("internalTrafficPolicy")
    if inside is None and kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        yield required("spec.internalTrafficPolicy")
    yield from optional_one_of(inside, "spec.internalTrafficPolicy", ("Cluster", "Local"))
    spread = spec.get("trafficDistribution")
    yield from optional_one_of(spread, "spec.trafficDistribution", _DISTRIBUTIONS, sort=False)


def _cluster_ips_kept(before: Object, after: Object) -> Problems:
    if _is_headless(before) and _is_headless(after):
        return
    old, new = items(before.get("clusterIPs")), items(after.get("clusterIPs"))
    shown = new if isinstance(after.get("clusterIPs"), list) else None
    if len(old) == len(new):
        for index, (was, now) in enumerate(zip(old, new, strict=True)):
            if was != now:
                yield invalid(f"spec.clusterIPs[{index}]", shown, _ONCE)
        return
    if not new:
        yield invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset")
    elif old and old[0] != new[0]:
        yield invalid("spec.clusterIPs[0]", shown, _ONCE)
    if len(old) > len(new) == 1 and after.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid("spec.ipFamilyPolicy", after.get("ipFamilyPolicy"), detail)


def _families_kept(before: Object, after: Object) -> Problems:
    if _is_headless(before) or _is_headless(after):
        return
    old, new = items(before.get("ipFamilies")), items(after.get("ipFamilies"))
    if len(old) == len(new):
        for was, now in zip(old, new, strict=True):
            if was != now:
                yield invalid("spec.ipFamilies[0]", new, _ONCE)
        return
    if old and new and old[0] != new[0]:
        yield invalid("spec.ipFamilies[0]", after.get("clusterIPs"), _ONCE)
    if len(old) > len(new) == 1 and after.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid("spec.ipFamilyPolicy", after.get("ipFamilyPolicy"), detail)


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _is_headless(spec: Object) -> bool:
    return items(spec.get("clusterIPs")) == ["None"]


def _is_v6(address: Json) -> bool:
    parsed = parsed_ip(text(address))
    return parsed is not None and parsed.version == 6
