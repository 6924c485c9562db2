"""Defaulting functions by type, and the small questions that they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from whysync.json_tree import Json, Object, copy

Fill: TypeAlias = Callable[[Object], None]
F = TypeVar("F", bound=Fill)

FILLS: Final[dict[str, Fill]] = {}

# Packages whose defaults Argo CD installs. `resource` and `storagemigration` are not among them.
INSTALLED: Final = frozenset(
    {
        "admissionregistration", "apps", "autoscaling", "batch", "certificates", "coordination", "core",
        "discovery", "events", "extensions", "flowcontrol", "networking", "node", "policy", "rbac",
        "scheduling", "storage",
    }
)  # fmt: skip


def fills(*types: str) -> Callable[[F], F]:
    """Register a function for types such as `core/v1.Container`; it may change its dict, not deeper ones."""

    def register(function: F) -> F:
        for name in types:
            FILLS[name] = function
        return function

    return register


def fill(obj: Object, **values: Json) -> None:
    """Sets a field that is absent, null or empty, which Go does not distinguish."""
    for key, value in values.items():
        if obj.get(key) in (None, ""):
            obj[key] = copy(value)


def own(obj: Object, key: str) -> Object:
    """The map at `key`, created if needed, and safe to change."""
    value = obj.get(key)
    mine: Object = dict(value) if isinstance(value, dict) else {}
    obj[key] = mine
    return mine
