"""A request on its way through the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from whysync.cluster.model.failures import Cause, Refused, conflict, invalid, not_found
from whysync.cluster.model.kinds import Resource
from whysync.cluster.model.paths import Address
from whysync.cluster.model.served import Served
from whysync.cluster.model.store import Place
from whysync.cluster.protocol import Request
from whysync.contracts.tree import Object


class Reply(NamedTuple):
    code: int
    body: Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    request: Request
    address: Address
    served: Served
    warnings: list[str]

    @property
    def resource(self) -> Resource:
        return self.served.resource

    @property
    def place(self) -> Place:
        return (self.resource.store, self.address.namespace, self.address.name)

    @property
    def manager(self) -> str:
        return self.request.manager or self.request.agent

    def missing(self) -> Refused:
        return not_found(self.resource.plural, self.resource.group, self.address.name)

    def conflict(self, why: str) -> Refused:
        return conflict(self.resource.plural, self.resource.group, self.address.name, why)

    def invalid(self, name: str, causes: list[Cause]) -> Refused:
        return invalid(self.resource.kind, self.resource.group, name, causes)
