"""Services: allocation of cluster IPs and node ports.

Mirrors the Service registry of Kubernetes 1.36 on a cluster with IPv4 only.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Final, NamedTuple

from whysync.json_tree import Json, Object, copy, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.status_errors import Cause, invalid
from whysync.kubernetes.apiserver.storage import ObjectKey, Store

# Allocators of cluster IPs and node ports.


_FIRST: Final = ipaddress.IPv4Address("10.96.0.10")
_FIRST_PORT: Final = 30000
_SERVICES: Final = ("", "services")


class _Allocation(NamedTuple):
    ips: list[str]
    ports: list[tuple[int, str]]


class AddressAllocator:
    """Allocates addresses and ports in order; follows the journal to know those in use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._addresses = 0
        self._ports = 0
        self._read = 0
        self._held: dict[ObjectKey, _Allocation] = {}
        self._ips: dict[str, ObjectKey] = {}
        self._node_ports: dict[tuple[int, str], ObjectKey] = {}
        self._numbers: Counter[int] = Counter()

    def next_ip(self) -> str:
        self._follow()
        while True:
            self._addresses += 1
            address = str(_FIRST + self._addresses)
            if address not in self._ips:
                return address

    def next_port(self) -> int:
        self._follow()
        while True:
            self._ports += 1
            port = _FIRST_PORT + self._ports
            if not self._numbers[port]:
                return port

    def check(self, obj: Object, resource: Resource, object_key: ObjectKey) -> None:
        """Raises `Refused` if a Service requests an address or node port of another Service."""
        if resource.kind != "Service" or resource.group:
            return
        self._follow()
        for ip in items(dig(obj, "spec", "clusterIPs")):
            if ip != "None" and self._ips.get(text(ip), object_key) != object_key:
                why = f"failed to allocate IP {text(ip)}: provided IP is already allocated"
                raise invalid(
                    "Service",
                    "",
                    object_key[2],
                    [Cause("spec.clusterIPs", f'Invalid value: ["{text(ip)}"]: {why}')],
                )
        for index, raw in enumerate(items(dig(obj, "spec", "ports"))):
            number = integer(fields(raw).get("nodePort"))
            if (
                number
                and self._node_ports.get((number, text(fields(raw).get("protocol"))), object_key)
                != object_key
            ):
                why = f"Invalid value: {number}: provided port is already allocated"
                raise invalid("Service", "", object_key[2], [Cause(f"spec.ports[{index}].nodePort", why)])

    def _follow(self) -> None:
        journal = self._store.journal
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.object_key[0] == _SERVICES:
                self._let_go(change.object_key)
                if change.type != "DELETED":
                    self._take(change.object_key, change.obj)

    def _take(self, object_key: ObjectKey, service: Object) -> None:
        ips = [text(ip) for ip in items(dig(service, "spec", "clusterIPs")) if ip != "None"]
        ports = [
            (integer(fields(port).get("nodePort")), text(fields(port).get("protocol")))
            for port in items(dig(service, "spec", "ports"))
            if fields(port).get("nodePort")
        ]
        self._held[object_key] = _Allocation(ips, ports)
        self._ips.update((ip, object_key) for ip in ips)
        self._node_ports.update((port, object_key) for port in ports)
        self._numbers.update(number for number, _ in ports)

    def _let_go(self, object_key: ObjectKey) -> None:
        allocation = self._held.pop(object_key, None)
        if allocation is None:
            return
        for ip in allocation.ips:
            self._ips.pop(ip, None)
        for port in allocation.ports:
            self._node_ports.pop(port, None)
            self._numbers[port[0]] -= 1


# What strategies of kinds share: access to the store and to the allocators.


class RegistryContext(NamedTuple):
    store: Store
    addresses: AddressAllocator
    now: str

    def find(self, group: str, plural: str, name: str) -> Object | None:
        """A cluster-scoped object."""
        return self.store.get(((group, plural), "", name))

    def all_of(self, group: str, plural: str) -> list[Object]:
        return [obj for _, obj in self.store.within((group, plural))]


def spec_of(obj: Object) -> Object:
    """The spec of the object, created if it is missing; may be changed."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        spec = obj["spec"] = {}
    return spec


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
