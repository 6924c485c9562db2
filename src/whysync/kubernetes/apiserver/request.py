"""RequestContext: a request with its parsed path and the kind that serves it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.apiserver.status_errors import (
    Cause,
    Refused,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
)
from whysync.kubernetes.apiserver.storage import ObjectKey


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


# Parsing of Kubernetes API URL paths.


class UrlPath(NamedTuple):
    api_version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_url_path(path: str) -> UrlPath | None:
    """Parses `/apis/apps/v1/namespaces/shop/deployments/web/scale`; `None` if it is no path of a resource."""
    segments = [segment for segment in path.partition("?")[0].split("/") if segment]
    if segments[:1] == ["api"] and len(segments) > 2:
        api_version, rest = segments[1], segments[2:]
    elif len(segments) > 3 and segments[0] == "apis":
        api_version, rest = f"{segments[1]}/{segments[2]}", segments[3:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 3:
        return None
    return UrlPath(api_version, rest[0], namespace, *rest[1:])


_METHOD_NOT_ALLOWED = "the server does not allow this method on the requested resource"


def with_effective_verb(request: Request, address: UrlPath) -> Request:
    """The request with its verb for one object or for a collection, depending on the path."""
    return replace(request, verb="list") if request.verb == "get" and not address.name else request


def check_method(request: Request, address: UrlPath) -> None:
    """Raises `Refused` for a create with a name, and for changes without one."""
    verb, names_object = request.verb, bool(address.name)
    on_one = verb in {"update", "delete", "ssa"} or verb.endswith("-patch")
    if (verb == "create" and names_object) or (on_one and not names_object):
        raise method_not_allowed(_METHOD_NOT_ALLOWED)
