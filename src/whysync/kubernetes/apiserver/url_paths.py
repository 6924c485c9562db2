"""Parsing of Kubernetes API URL paths."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.status_errors import method_not_allowed


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
