"""Services: allocation of cluster IPs and node ports.

Mirrors the Service registry of Kubernetes 1.36 on a cluster with IPv4 only.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, copy, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.registry import RegistryContext, spec_of
from whysync.kubernetes.apiserver.status_errors import Cause, invalid

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def prepare_service_for_create(obj: Object, registry: RegistryContext) -> None:
    obj["status"] = {"loadBalancer": {}}
    _check_ip_families(spec_of(obj), obj, items(spec_of(obj).get("ipFamilies")))
    _allocate_addresses(spec_of(obj), registry)


def prepare_service_for_update(new: Object, old: Object, registry: RegistryContext) -> None:
    old_spec, new_spec = fields(old.get("spec")), spec_of(new)
    families = items(new_spec.get("ipFamilies"))
    if new_spec.get("type") != "ExternalName" and old_spec.get("type") != "ExternalName":
        same_ip = new_spec.get("clusterIP") in (None, "", old_spec.get("clusterIP"))
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not new_spec.get(key) and old_spec.get(key) and (same_ip or key != "clusterIPs"):
                new_spec[key] = copy(old_spec[key])
        if not same_ip and new_spec.get("clusterIPs") == old_spec.get("clusterIPs"):
            new_spec.pop("clusterIPs", None)
    if new_spec.get("type") in _WITH_NODE_PORTS and old_spec.get("type") in _WITH_NODE_PORTS:
        _patch_allocated_values(new_spec, old_spec)
    if new_spec.get("type") == "LoadBalancer" and new_spec.get("externalTrafficPolicy") == "Local":
        old_port = old_spec.get("healthCheckNodePort")
        if old_port and not new_spec.get("healthCheckNodePort"):
            new_spec["healthCheckNodePort"] = old_port
    _drop_type_dependent_fields(new_spec, old_spec)
    _check_ip_families(new_spec, new, families)
    _allocate_addresses(new_spec, registry)


def _check_ip_families(spec: Object, obj: Object, families: list[Json]) -> None:
    """Raises `Refused` for IP families that the cluster, which is IPv4 only, does not have."""
    is_headless_without_selector = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("type") == "ExternalName" or is_headless_without_selector:
        return
    causes: list[Cause] = []
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        causes.append(Cause("spec.ipFamilyPolicy", f'Invalid value: "RequireDualStack": {why}'))
    has_address = spec.get("clusterIP") not in (None, "", "None")  # then validation reports the address
    for index, family in enumerate(families):
        if family == "IPv6" and not has_address:
            why = 'Invalid value: "IPv6": not configured on this cluster'
            causes.append(Cause(f"spec.ipFamilies[{index}]", why))
    if causes:
        raise invalid("Service", "", text(dig(obj, "metadata", "name")), causes)


def _patch_allocated_values(new_spec: Object, old_spec: Object) -> None:
    used = {integer(fields(port).get("nodePort")) for port in items(new_spec.get("ports"))}
    for raw in items(new_spec.get("ports")):
        port = fields(raw)
        if port.get("nodePort"):
            continue
        for old in items(old_spec.get("ports")):
            old_port = fields(old)
            same_port = (old_port.get("port"), old_port.get("protocol")) == (
                port.get("port"),
                port.get("protocol"),
            )
            if same_port and old_port.get("nodePort") and integer(old_port["nodePort"]) not in used:
                port["nodePort"] = old_port["nodePort"]
                used.add(integer(old_port["nodePort"]))


def _drop_type_dependent_fields(new_spec: Object, old_spec: Object) -> None:
    """Removes fields of the previous Service type, unless the writer changed them too."""
    if new_spec.get("type") == "ExternalName" and old_spec.get("type") != "ExternalName":
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if new_spec.get(key) == old_spec.get(key):
                new_spec.pop(key, None)
    if new_spec.get("type") == "ClusterIP" and old_spec.get("type") in _WITH_NODE_PORTS:
        old_node_ports = {
            _port_key(fields(port)): fields(port).get("nodePort") for port in items(old_spec.get("ports"))
        }
        for raw in items(new_spec.get("ports")):
            port = fields(raw)
            if port.get("nodePort") and old_node_ports.get(_port_key(port)) == port["nodePort"]:
                port.pop("nodePort")
        if new_spec.get("externalTrafficPolicy") == old_spec.get("externalTrafficPolicy"):
            new_spec.pop("externalTrafficPolicy", None)
    same_check = new_spec.get("healthCheckNodePort") == old_spec.get("healthCheckNodePort")
    if same_check and _needs_health_check_node_port(old_spec) and not _needs_health_check_node_port(new_spec):
        new_spec.pop("healthCheckNodePort", None)
    if old_spec.get("type") == "LoadBalancer" and new_spec.get("type") != "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if new_spec.get(key) == old_spec.get(key):
                new_spec.pop(key, None)


def _needs_health_check_node_port(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _port_key(port: Object) -> tuple[int, str]:
    return integer(port.get("port")), text(port.get("protocol"))


def _allocate_addresses(spec: Object, registry: RegistryContext) -> None:
    kind = text(spec.get("type"))
    if kind == "ExternalName":
        return
    if not spec.get("clusterIP"):
        cluster_ips = items(spec.get("clusterIPs"))
        spec["clusterIP"] = cluster_ips[0] if cluster_ips else registry.addresses.next_ip()
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    is_headless_without_selector = spec["clusterIP"] == "None" and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = "RequireDualStack" if is_headless_without_selector else "SingleStack"
    if not spec.get("ipFamilies"):
        families: list[Json] = ["IPv4"]
        spec["ipFamilies"] = [*families, "IPv6"] if spec["ipFamilyPolicy"] == "RequireDualStack" else families
    if kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    ):
        _allocate_node_ports(spec, registry)
    is_local = kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if is_local and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = registry.addresses.next_port()


def _allocate_node_ports(spec: Object, registry: RegistryContext) -> None:
    """Ports of the same number under several protocols share a node port."""
    ports = [fields(raw) for raw in items(spec.get("ports"))]
    by_port: dict[int, int] = {}
    used: set[tuple[int, str]] = set()
    for port in ports:
        node_port = integer(port.get("nodePort"))
        if node_port:
            by_port.setdefault(integer(port.get("port")), node_port)
            used.add((node_port, text(port.get("protocol"))))
    for port in ports:
        if port.get("nodePort"):
            continue
        number, protocol = integer(port.get("port")), text(port.get("protocol"))
        candidate = by_port.get(number)
        if candidate is None or (candidate, protocol) in used:
            candidate = registry.addresses.next_port()
        port["nodePort"] = candidate
        by_port.setdefault(number, candidate)
        used.add((candidate, protocol))
