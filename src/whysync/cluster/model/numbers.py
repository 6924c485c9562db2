"""Cluster addresses and node ports, given out in order and never twice."""

from __future__ import annotations

import ipaddress
from typing import Final

from whysync.cluster.model.store import Store
from whysync.contracts.tree import dig, fields, integer, items, text

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
