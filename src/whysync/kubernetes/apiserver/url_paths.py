"""Parsing of Kubernetes API URL paths."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs

from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.status_errors import bad_request, method_not_allowed


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


def check_query(path: str) -> None:
    """Raises `Refused` for invalid parameters of a list."""
    if "?" not in path:
        return
    query = parse_qs(path.partition("?")[2])
    for limit in query.get("limit", ()):
        if not re.fullmatch(r"-?\d+", limit):
            raise bad_request(f'strconv.ParseInt: parsing "{limit}": invalid syntax')
    for version in query.get("resourceVersion", ()):
        if version and not version.isdecimal():
            why = f'strconv.ParseUint: parsing "{version}": invalid syntax'
            raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{version}": {why}')


_METHOD_NOT_ALLOWED = "the server does not allow this method on the requested resource"


def with_effective_verb(request: Request, address: UrlPath) -> Request:
    """The request with its verb for one object or for a collection, depending on the path."""
    if address.name:
        return request
    if request.verb == "get":
        return replace(request, verb="list")
    if request.verb == "delete" and address.plural != "namespaces":
        return replace(request, verb="deletecollection")
    return request


def check_method(request: Request, address: UrlPath) -> None:
    """Raises `Refused` for a create with a name, and for changes without one."""
    verb, names_object = request.verb, bool(address.name)
    on_one = verb in {"update", "delete", "ssa"} or verb.endswith("-patch")
    if (verb == "create" and names_object) or (on_one and not names_object):
        raise method_not_allowed(_METHOD_NOT_ALLOWED)
