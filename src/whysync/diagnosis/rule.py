"""Rule: a cause and how to find it. Rules are discovered by walking the packages of `whysync.rules`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, Never, Protocol, TypeVar, cast

import msgspec

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.symptom import Side

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.kubernetes.api.manifest import Manifest

MANIFESTS: Final = "manifests"
PREVENTION: Final = "prevention"
_SIDES: Final = tuple(side.value for side in Side if side is not Side.NONE)
GROUPS: Final = (*_SIDES, MANIFESTS, PREVENTION)
"""The packages of `whysync.rules`."""


VARIES: Final = "varies"
"""The cause of a rule whose findings have different causes."""


class Fact(StrEnum):
    """The facts that a rule needs. A rule without its facts is skipped and reported as such."""

    APPLICATION = "application"
    DESIRED = "desired objects"
    LIVE = "live objects"
    EVENTS = "events"
    LOGS = "pod logs"
    PROJECT = "the AppProject"
    SETTINGS = "Argo CD's settings"
    POLICY = "argocd-rbac-cm"
    GIT = "Git heads"


class Scope(StrEnum):
    """What a rule is called with."""

    APP = "one Application"
    """A `Case`."""
    FLEET = "all Applications"
    """A sequence of Cases."""
    FILES = "files"
    """A `Tree`."""
    OBJECTS = "desired objects"
    """Anything with `desired` objects: a Case or a Tree."""


class Layer(StrEnum):
    """The part of `whysync lint` that a rule belongs to, in the order in which they depend on each other."""

    SYNTAX = "syntax"
    SCHEMA = "schema"
    REFERENCES = "references"
    GITOPS = "gitops"
    ARGOCD = "argocd"
    LINT = "lint"


class Topic(StrEnum):
    """The section of `whysync audit` that a rule belongs to, in the order of the report."""

    WRITERS = "fields that others write"
    HEALTH = "custom resources without a health check"
    HOOKS = "hooks"
    DATA = "data that a sync can delete"
    EXPIRY = "credentials and certificates"
    WEBHOOK = "webhooks"


class DesiredObjects(Protocol):
    """What a rule of scope OBJECTS is called with."""

    @property
    def desired(self) -> Sequence[Manifest]: ...


Input_contra = TypeVar("Input_contra", contravariant=True)
Check = Callable[[Input_contra], "Iterable[Finding]"]


class Rule(msgspec.Struct, Generic[Input_contra], frozen=True, kw_only=True):
    """One cause and how to find it. `group` is its package in `whysync.rules`.

    Rules on families of failures have the cause `VARIES`: their findings name it.

    `diagnose` runs the rules of the five sides, `lint` those with a `layer`, `audit` those with a `topic`.
    Two rules of different scopes that find the same mistake have the same id and cause.
    """

    id: str
    cause: str
    group: str
    scope: Scope
    needs: frozenset[Fact]
    since: str
    check: Check[Input_contra]
    docs: str
    # of the findings of `lint` and `audit`, at most
    severity: Severity = Severity.CRITICAL
    layer: Layer | None = None
    topic: Topic | None = None
    # reports only symptoms that no other rule explains
    last_resort: bool = False
    # infers from missing information: its findings are dropped if an unrecognized text or difference remains
    on_absence: bool = False

    @property
    def title(self) -> str:
        return self.docs.partition("\n")[0].rstrip(".")

    @property
    def side(self) -> Side:
        return Side(self.group) if self.group in _SIDES else Side.NONE


AnyRule = Rule[Never]


def rule(
    *,
    cause: str,
    since: str,
    needs: Iterable[Fact] = (),
    scope: Scope | None = None,
    severity: Severity = Severity.CRITICAL,
    layer: Layer | None = None,
    topic: Topic | None = None,
    last_resort: bool = False,
    on_absence: bool = False,
) -> Callable[[Check[Input_contra]], Rule[Input_contra]]:
    """Turn a function into a rule. Its module's name is the id, its docstring the documentation page."""

    def decorator(check: Check[Input_contra]) -> Rule[Input_contra]:
        docs: str | None = getattr(check, "__globals__", {}).get("__doc__")
        package, _, name = check.__module__.rpartition(".")
        group = package.rpartition(".")[2]
        if group not in GROUPS:
            raise ValueError(f"{check.__module__}: rules are in a folder of whysync.rules")
        return Rule(
            id=name,
            cause=cause,
            group=group,
            scope=scope or (Scope.FILES if group == MANIFESTS else Scope.APP),
            needs=frozenset(needs),
            since=since,
            check=check,
            docs=(docs or "").strip(),
            severity=severity,
            layer=layer,
            topic=topic,
            last_resort=last_resort,
            on_absence=on_absence,
        )

    return decorator


def registry() -> tuple[AnyRule, ...]:
    """All rules by id; of equal ids, the rule on a Case comes first."""
    return tuple(sorted(rules_in(*GROUPS), key=lambda rule: rule.id))


def diagnosis_rules() -> tuple[Rule[Case], ...]:
    """The rules that explain the symptoms of an Application, by id."""
    return cast("tuple[Rule[Case], ...]", tuple(sorted(rules_in(*_SIDES), key=lambda rule: rule.id)))


@cache
def rules_in(*groups: str) -> tuple[AnyRule, ...]:
    """The rules in these packages; no others are imported."""
    return tuple(rule for group in groups for rule in _walk(f"whysync.rules.{group}"))


def _walk(package: str) -> Iterator[AnyRule]:
    root = importlib.import_module(package)
    for info in pkgutil.iter_modules(root.__path__, f"{package}."):
        module = importlib.import_module(info.name)
        values = cast("Iterable[object]", vars(module).values())
        yield from (cast("Rule[Any]", value) for value in values if isinstance(value, Rule))
