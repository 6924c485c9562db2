"""Services: cluster addresses and node ports, given out and kept.

Mirrors the Service registry of Kubernetes 1.36 on a cluster with IPv4 only.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, copy, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.registry import RegistryContext, on_create, on_update, spec_of
from whysync.kubernetes.apiserver.status_errors import Cause, invalid

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


@on_create("", "Service")
def service(obj: Object, registry: RegistryContext) -> None:
    obj["status"] = {"loadBalancer": {}}
    _require_families(spec_of(obj), obj, items(spec_of(obj).get("ipFamilies")))
    _addresses(spec_of(obj), registry)


@on_update("", "Service")
def changed_service(new: Object, old: Object, registry: RegistryContext) -> None:
    before, after = fields(old.get("spec")), spec_of(new)
    families = items(after.get("ipFamilies"))
    if after.get("type") != "ExternalName" and before.get("type") != "ExternalName":
        same = after.get("clusterIP") in (None, "", before.get("clusterIP"))
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not after.get(key) and before.get(key) and (same or key != "clusterIPs"):
                after[key] = copy(before[key])
        if not same and after.get("clusterIPs") == before.get("clusterIPs"):
            after.pop("clusterIPs", None)
    if after.get("type") in _WITH_NODE_PORTS and before.get("type") in _WITH_NODE_PORTS:
        _patch_ports(after, before)
    if after.get("type") == "LoadBalancer" and after.get("externalTrafficPolicy") == "Local":
        kept = before.get("healthCheckNodePort")
        if kept and not after.get("healthCheckNodePort"):
            after["healthCheckNodePort"] = kept
    _drop_by_type(after, before)
    _require_families(after, new, families)
    _addresses(after, registry)


def _require_families(spec: Object, obj: Object, families: list[Json]) -> None:
    """Refuses a second family of addresses, of those that the writer names: the cluster has one."""
    alone = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("type") == "ExternalName" or alone:
        return
    causes: list[Cause] = []
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        causes.append(Cause("spec.ipFamilyPolicy", f'Invalid value: "RequireDualStack": {why}'))
    has_address = spec.get("clusterIP") not in (None, "", "None")  # then that is what does not fit
    for at, family in enumerate(families):
        if family == "IPv6" and not has_address:
            why = 'Invalid value: "IPv6": not configured on this cluster'
            causes.append(Cause(f"spec.ipFamilies[{at}]", why))
    if causes:
        raise invalid("Service", "", text(dig(obj, "metadata", "name")), causes)


def _patch_ports(after: Object, before: Object) -> None:
    used = {integer(fields(port).get("nodePort")) for port in items(after.get("ports"))}
    for raw in items(after.get("ports")):
        port = fields(raw)
        if port.get("nodePort"):
            continue
        for old in items(before.get("ports")):
            given = fields(old)
            same = (given.get("port"), given.get("protocol")) == (port.get("port"), port.get("protocol"))
            if same and given.get("nodePort") and integer(given["nodePort"]) not in used:
                port["nodePort"] = given["nodePort"]
                used.add(integer(given["nodePort"]))


def _drop_by_type(after: Object, before: Object) -> None:
    """Removes fields of the previous Service type, unless the writer changed them too."""
    if after.get("type") == "ExternalName" and before.get("type") != "ExternalName":
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if after.get(key) == before.get(key):
                after.pop(key, None)
    if after.get("type") == "ClusterIP" and before.get("type") in _WITH_NODE_PORTS:
        olds = {_which(fields(port)): fields(port).get("nodePort") for port in items(before.get("ports"))}
        for raw in items(after.get("ports")):
            port = fields(raw)
            if port.get("nodePort") and olds.get(_which(port)) == port["nodePort"]:
                port.pop("nodePort")
        if after.get("externalTrafficPolicy") == before.get("externalTrafficPolicy"):
            after.pop("externalTrafficPolicy", None)
    same_check = after.get("healthCheckNodePort") == before.get("healthCheckNodePort")
    if same_check and _checks_health(before) and not _checks_health(after):
        after.pop("healthCheckNodePort", None)
    if before.get("type") == "LoadBalancer" and after.get("type") != "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if after.get(key) == before.get(key):
                after.pop(key, None)


def _checks_health(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _which(port: Object) -> tuple[int, str]:
    return integer(port.get("port")), text(port.get("protocol"))


def _addresses(spec: Object, registry: RegistryContext) -> None:
    kind = text(spec.get("type"))
    if kind == "ExternalName":
        return
    if not spec.get("clusterIP"):
        given = items(spec.get("clusterIPs"))
        spec["clusterIP"] = given[0] if given else registry.next_ip()
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    headless_alone = spec["clusterIP"] == "None" and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = "RequireDualStack" if headless_alone else "SingleStack"
    if not spec.get("ipFamilies"):
        families: list[Json] = ["IPv4"]
        spec["ipFamilies"] = [*families, "IPv6"] if spec["ipFamilyPolicy"] == "RequireDualStack" else families
    if kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    ):
        _node_ports(spec, registry)
    is_local = kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if is_local and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = registry.next_port()


def _node_ports(spec: Object, registry: RegistryContext) -> None:
    """Ports of the same number under several protocols share a node port."""
    ports = [fields(raw) for raw in items(spec.get("ports"))]
    shared: dict[int, int] = {}
    used: set[tuple[int, str]] = set()
    for port in ports:
        given = integer(port.get("nodePort"))
        if given:
            shared.setdefault(integer(port.get("port")), given)
            used.add((given, text(port.get("protocol"))))
    for port in ports:
        if port.get("nodePort"):
            continue
        number, protocol = integer(port.get("port")), text(port.get("protocol"))
        candidate = shared.get(number)
        if candidate is None or (candidate, protocol) in used:
            candidate = registry.next_port()
        port["nodePort"] = candidate
        shared.setdefault(number, candidate)
        used.add((candidate, protocol))
