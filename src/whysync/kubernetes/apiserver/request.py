"""RequestContext: a request with its parsed path and the kind that serves it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.apiserver.status_errors import Cause, Refused, conflict, invalid, not_found
from whysync.kubernetes.apiserver.storage import ObjectKey
from whysync.kubernetes.apiserver.url_paths import UrlPath


class Reply(NamedTuple):
    code: int
    body: Object


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    request: Request
    address: UrlPath
    served: Served

    @property
    def resource(self) -> Resource:
        return self.served.resource

    @property
    def object_key(self) -> ObjectKey:
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
