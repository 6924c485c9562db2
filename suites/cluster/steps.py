"""Short ways to write down a request. Objects are given as YAML, mostly in one line.

Everything lives in the namespace `NS`; on the real server each conversation gets a namespace of its own, and
`NS` is replaced wherever it stands. So names that must be unique in a cluster contain it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import yaml
from msgspec.structs import replace

from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.kubernetes.apiserver.protocol import Request, ServedKind

NS = "nsaaaa"
STATUS = "status"


@dataclass(frozen=True, slots=True)
class Step:
    request: Request
    update: str = ""
    """For an `update`: the body is what a GET gives, with this JSON merge patch applied."""
    until: int = 0
    """The real server needs a moment to see what was written before: ask it again until it answers so."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    steps: tuple[Step, ...]


def case(name: str, *steps: Step) -> Case:
    return Case(name, steps)


def tree(source: str) -> Json:
    return cast(Json, yaml.safe_load(source))


def obj(what: str, rest: str = "") -> Object:
    """`obj("apps/v1/Deployment web", "spec: {replicas: 1}")`."""
    kind, _, name = what.partition(" ")
    api_version, _, kind = kind.rpartition("/")
    more = fields(tree(rest.replace("NS", NS)))
    meta: Object = {"name": name} if name else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        **more,
        "metadata": {**meta, **fields(more.get("metadata"))},
    }


@cache
def _served() -> dict[tuple[str, str], ServedKind]:
    return {
        (value.api_version, value.kind): ServedKind(
            group=value.group,
            version=value.version,
            kind=value.kind,
            plural=value.plural,
            namespaced=value.namespaced,
        )
        for value in built_in().values()
    }


def kind_of(api_version: str, kind: str) -> ServedKind:
    """Built-in kinds as they are; of others, the plural is the kind with an s, in namespaces."""
    group, _, version = api_version.rpartition("/")
    usual = ServedKind(
        group=group,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        namespaced=not kind.startswith("Wide"),
    )
    return _served().get((api_version, kind), usual)


def collection(body: Object) -> str:
    return kind_of(text(body.get("apiVersion")), text(body.get("kind"))).collection(NS)


def path(body: Object, subresource: str = "") -> str:
    kind = kind_of(text(body.get("apiVersion")), text(body.get("kind")))
    return kind.path(NS, text(fields(body.get("metadata")).get("name")), subresource)


def create(body: Object, **more: object) -> Step:
    return _step(Request(verb="create", path=collection(body), body=body), more)


def put(body: Object, subresource: str = "", **more: object) -> Step:
    return _step(Request(verb="update", path=path(body, subresource), body=body), more)


def edit(body: Object, change: str, subresource: str = "", **more: object) -> Step:
    """Read it, change it, write it back whole."""
    step = _step(Request(verb="update", path=path(body, subresource)), more)
    return Step(step.request, change)


def ssa(body: Object, manager: str | None = "one", subresource: str = "", **more: object) -> Step:
    return _step(Request(verb="ssa", path=path(body, subresource), body=body, manager=manager), more)


def patch(verb: str, body: Object, change: str, subresource: str = "", **more: object) -> Step:
    """`verb` is `merge`, `strategic` or `json`."""
    sent = tree(change.replace("NS", NS))
    return _step(Request(verb=f"{verb}-patch", path=path(body, subresource), body=sent), more)


def get(body: Object, subresource: str = "", **more: object) -> Step:
    return _step(Request(verb="get", path=path(body, subresource)), more)


def listing(body: Object, query: str = "", **more: object) -> Step:
    return _step(Request(verb="list", path=collection(body) + query), more)


def delete(body: Object, options: str = "", **more: object) -> Step:
    sent: Json = {"apiVersion": "v1", "kind": "DeleteOptions", **fields(tree(options))} if options else None
    return _step(Request(verb="delete", path=path(body), body=sent), more)


def at(verb: str, where: str, body: Json = None, **more: object) -> Step:
    """A request to a path that is written out."""
    return _step(Request(verb=verb, path=where.replace("NS", NS), body=body), more)


def apply(body: Object) -> Step:
    """kubectl's client-side apply."""
    return Step(Request(verb="apply", path=collection(body), body=body))


def _step(request: Request, more: dict[str, object]) -> Step:
    return Step(replace(request, **more) if more else request)  # pyright: ignore[reportArgumentType]
