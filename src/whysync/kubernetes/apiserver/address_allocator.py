"""Cluster addresses and node ports, given out in order and never twice."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Final, NamedTuple

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.status_errors import Cause, invalid
from whysync.kubernetes.apiserver.storage import Place, Store

_FIRST: Final = ipaddress.IPv4Address("10.96.0.10")
_FIRST_PORT: Final = 30000
_SERVICES: Final = ("", "services")


class _Held(NamedTuple):
    ips: list[str]
    ports: list[tuple[int, str]]


class AddressAllocator:
    """Who has which address and which port: followed in the journal, so that nobody counts all Services."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._addresses = 0
        self._ports = 0
        self._read = 0
        self._held: dict[Place, _Held] = {}
        self._ips: dict[str, Place] = {}
        self._node_ports: dict[tuple[int, str], Place] = {}
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

    def check(self, obj: Object, resource: Resource, place: Place) -> None:
        """Raises `Refused` when a Service asks for an address or a node port that another one has."""
        if resource.kind != "Service" or resource.group:
            return
        self._follow()
        for ip in items(dig(obj, "spec", "clusterIPs")):
            if ip != "None" and self._ips.get(text(ip), place) != place:
                why = f"failed to allocate IP {text(ip)}: provided IP is already allocated"
                raise invalid(
                    "Service",
                    "",
                    place[2],
                    [Cause("spec.clusterIPs", f'Invalid value: ["{text(ip)}"]: {why}')],
                )
        for at, raw in enumerate(items(dig(obj, "spec", "ports"))):
            number = integer(fields(raw).get("nodePort"))
            if number and self._node_ports.get((number, text(fields(raw).get("protocol"))), place) != place:
                why = f"Invalid value: {number}: provided port is already allocated"
                raise invalid("Service", "", place[2], [Cause(f"spec.ports[{at}].nodePort", why)])

    def _follow(self) -> None:
        journal = self._store.journal
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.place[0] == _SERVICES:
                self._let_go(change.place)
                if change.type != "DELETED":
                    self._take(change.place, change.obj)

    def _take(self, place: Place, service: Object) -> None:
        ips = [text(ip) for ip in items(dig(service, "spec", "clusterIPs")) if ip != "None"]
        ports = [
            (integer(fields(port).get("nodePort")), text(fields(port).get("protocol")))
            for port in items(dig(service, "spec", "ports"))
            if fields(port).get("nodePort")
        ]
        self._held[place] = _Held(ips, ports)
        self._ips.update((ip, place) for ip in ips)
        self._node_ports.update((port, place) for port in ports)
        self._numbers.update(number for number, _ in ports)

    def _let_go(self, place: Place) -> None:
        held = self._held.pop(place, None)
        if held is None:
            return
        for ip in held.ips:
            self._ips.pop(ip, None)
        for port in held.ports:
            self._node_ports.pop(port, None)
            self._numbers[port[0]] -= 1
