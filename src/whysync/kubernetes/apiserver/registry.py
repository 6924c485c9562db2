"""Registration of strategies by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from whysync.json_tree import Object


class RegistryContext:
    """Access of a strategy to stored objects, to the address allocators and to the clock."""

    def __init__(
        self,
        *,
        next_ip: Callable[[], str],
        next_port: Callable[[], int],
        find: Callable[[str, str, str, str], Object | None],
        all_of: Callable[[str, str], list[Object]],
        now: str,
    ) -> None:
        self.next_ip = next_ip
        self.next_port = next_port
        self.now = now
        self.find = find
        self.all_of = all_of


OnCreate: TypeAlias = Callable[[Object, RegistryContext], None]
OnUpdate: TypeAlias = Callable[[Object, Object, RegistryContext], None]
C = TypeVar("C", bound=OnCreate)
U = TypeVar("U", bound=OnUpdate)

ON_CREATE: Final[dict[tuple[str, str], OnCreate]] = {}
ON_UPDATE: Final[dict[tuple[str, str], OnUpdate]] = {}


def on_create(group: str, kind: str) -> Callable[[C], C]:
    def register(function: C) -> C:
        ON_CREATE[group, kind] = function
        return function

    return register


def on_update(group: str, kind: str) -> Callable[[U], U]:
    def register(function: U) -> U:
        ON_UPDATE[group, kind] = function
        return function

    return register


def spec_of(obj: Object) -> Object:
    """The spec of the object, created if it is missing; may be changed."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        spec = obj["spec"] = {}
    return spec
