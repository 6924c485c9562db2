"""What a rule is, and how rules are found: by walking `whysync.rules`. There is no central list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.finding import Finding, concluded
from whysync.diagnosis.symptom import Side

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


class Fact(StrEnum):
    """What a rule needs to look at. A rule whose facts are absent is listed as skipped, not run."""

    APPLICATION = "application"
    DESIRED = "desired objects"
    LIVE = "live objects"
    EVENTS = "events"
    LOGS = "pod logs"
    PROJECT = "the AppProject"
    SETTINGS = "Argo CD's settings"
    POLICY = "argocd-rbac-cm"
    GIT = "Git heads"


Check = Callable[["Case"], "Iterable[Finding]"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    cause: str
    side: Side
    needs: frozenset[Fact]
    since: str
    check: Check
    docs: str
    # says something only of symptoms that no other rule explains
    last_resort: bool = False

    @property
    def title(self) -> str:
        return self.docs.partition("\n")[0].rstrip(".")


def rule(
    *, cause: str, since: str, needs: Iterable[Fact] = (), last_resort: bool = False
) -> Callable[[Check], Rule]:
    """Make a function a rule. Its module's docstring is its page, its package is its side."""

    def of(check: Check) -> Rule:
        def run(case: Case) -> Iterator[Finding]:
            return (concluded(finding, case.application.ref) for finding in check(case))

        package, _, name = check.__module__.rpartition(".")
        module = inspect.getmodule(check)
        return Rule(
            id=name,
            cause=cause,
            side=Side(package.rpartition(".")[2]),
            needs=frozenset(needs),
            since=since,
            check=run,
            docs=(module.__doc__ if module and module.__doc__ else "").strip(),
            last_resort=last_resort,
        )

    return of


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule below `whysync.rules`, by id."""
    found = {rule.id: rule for rule in _walk("whysync.rules")}
    return tuple(found[id] for id in sorted(found))


def _walk(package: str) -> Iterator[Rule]:
    root = importlib.import_module(package)
    for info in pkgutil.iter_modules(root.__path__, f"{package}."):
        if info.ispkg:
            yield from _walk(info.name)
            continue
        module = importlib.import_module(info.name)
        yield from (value for value in vars(module).values() if isinstance(value, Rule))
