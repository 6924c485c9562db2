"""The Check type, and discovery of checks by walking `whysync.rules.manifests`. There is no central list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.finding import Severity

if TYPE_CHECKING:
    from whysync.manifests.files import File, Item
    from whysync.manifests.remark import Remark
    from whysync.manifests.tree import Tree


class Layer(StrEnum):
    """Layers of checks, in the order in which they depend on each other."""

    SYNTAX = "syntax"
    SCHEMA = "schema"
    REFERENCES = "references"
    GITOPS = "gitops"
    ARGOCD = "argocd"
    LINT = "lint"


Found = Iterable["tuple[Item | File, Remark]"]
Looks = Callable[["Tree"], Found]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    layer: Layer
    severity: Severity
    since: str
    docs: str
    look: Looks

    @property
    def title(self) -> str:
        return self.docs.partition("\n")[0].rstrip(".")


def check(layer: Layer, severity: Severity, *, since: str = "0.2") -> Callable[[Looks], Check]:
    """Make a function a check. The name of its module is its id, the docstring its page."""

    def of(look: Looks) -> Check:
        module = inspect.getmodule(look)
        return Check(
            id=look.__module__.rpartition(".")[2],
            layer=layer,
            severity=severity,
            since=since,
            docs=(module.__doc__ if module and module.__doc__ else "").strip(),
            look=look,
        )

    return of


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check below `whysync.rules.manifests`, by id."""
    found = {one.id: one for one in _walk("whysync.rules.manifests")}
    return tuple(found[id] for id in sorted(found))


def _walk(package: str) -> Iterator[Check]:
    root = importlib.import_module(package)
    for info in pkgutil.iter_modules(root.__path__, f"{package}."):
        module = importlib.import_module(info.name)
        yield from (value for value in vars(module).values() if isinstance(value, Check))
