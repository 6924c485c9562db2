"""Cluster addresses and node ports, given out in order and never twice."""

from __future__ import annotations

import ipaddress
from typing import Final

from whysync.cluster.model.failures import Cause, invalid
from whysync.cluster.model.kinds import Resource
from whysync.cluster.model.store import Place, Store
from whysync.contracts.tree import Object, dig, fields, integer, items, text

_FIRST: Final = ipaddress.IPv4Address("10.96.0.10")
_FIRST_PORT: Final = 30000


class Numbers:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._addresses = 0
        self._ports = 0

    def next_ip(self) -> str:
        taken = {text(dig(obj, "spec", "clusterIP")) for _, obj in self._store.within(("", "services"))}
        while True:
            self._addresses += 1
            address = str(_FIRST + self._addresses)
            if address not in taken:
                return address

    def next_port(self) -> int:
        taken = {
            integer(fields(port).get("nodePort"))
            for _, obj in self._store.within(("", "services"))
            for port in items(dig(obj, "spec", "ports"))
        }
        while True:
            self._ports += 1
            port = _FIRST_PORT + self._ports
            if port not in taken:
                return port


def check_numbers(obj: Object, resource: Resource, place: Place, store: Store) -> None:
    """Raises `Refused` when a Service asks for an address or a node port that another one has."""
    if resource.kind != "Service":
        return
    addresses: set[str] = set()
    ports: set[tuple[int, str]] = set()
    for where, other in store.within(("", "services")):
        if where != place:
            addresses.update(text(ip) for ip in items(dig(other, "spec", "clusterIPs")))
            ports.update(
                (integer(fields(port).get("nodePort")), text(fields(port).get("protocol")))
                for port in items(dig(other, "spec", "ports"))
            )
    for ip in items(dig(obj, "spec", "clusterIPs")):
        if ip != "None" and text(ip) in addresses:
            why = f"failed to allocate IP {text(ip)}: provided IP is already allocated"
            raise invalid(
                "Service", "", place[2], [Cause("spec.clusterIPs", f'Invalid value: ["{text(ip)}"]: {why}')]
            )
    for at, raw in enumerate(items(dig(obj, "spec", "ports"))):
        number = integer(fields(raw).get("nodePort"))
        if number and (number, text(fields(raw).get("protocol"))) in ports:
            why = f"Invalid value: {number}: provided port is already allocated"
            raise invalid("Service", "", place[2], [Cause(f"spec.ports[{at}].nodePort", why)])
