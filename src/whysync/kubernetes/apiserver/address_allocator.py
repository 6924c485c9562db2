"""Allocators of cluster IPs and node ports."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Final, NamedTuple

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.status_errors import Cause, invalid
from whysync.kubernetes.apiserver.storage import ObjectKey, Store

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
