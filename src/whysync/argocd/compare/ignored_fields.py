"""What ignore rules took out of a comparison, by which rule; and the rules that took out nothing.

A field counts as ignored where it would differ without the rules: a rule about a field that is equal anyway
hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.state_diffs import StateDiffer, normalization_of
from whysync.argocd.diff.changes import FieldChange
from whysync.argocd.ignore_differences import Normalizer, Rule, RuleMistake, explain_miss
from whysync.json_tree import Object
from whysync.kubernetes.field_writers import writers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredField:
    change: FieldChange
    rule: Rule | None
    """`None`: several rules together, or one whose effect cannot be told apart."""
    selector: str = ""
    """The pointer, expression or manager of the rule that does it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleRule:
    """A rule of the Application that hides nothing, and why; `about` is the resource that it may mean."""

    rule: Rule
    why: str
    suggestion: str = ""
    about: ComparedResource | None = None


class IgnoredFields:
    """Compares once more without any rule, and looks what is new."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._rules = comparison.rules.rules if comparison.rules is not None else ()
        self._differ: StateDiffer | None = None
        self._found: dict[int, tuple[IgnoredField, ...]] = {}

    def of(self, resource: ComparedResource) -> tuple[IgnoredField, ...]:
        ignored_fields = self._found.get(id(resource))
        if ignored_fields is None:
            ignored_fields = self._found[id(resource)] = tuple(self._look(resource))
        return ignored_fields

    def idle_rules(self) -> tuple[IdleRule, ...]:
        """Those of `spec.ignoreDifferences` that hide nothing in any resource."""
        resources = [resource for resource in self._comparison.resources if resource.live is not None]
        busy = {id(field.rule) for resource in resources for field in self.of(resource) if field.rule}
        idle = (rule for rule in self._rules if rule.override_key is None and id(rule) not in busy)
        return tuple(_idle(rule, resources) for rule in idle)

    def _look(self, resource: ComparedResource) -> Iterator[IgnoredField]:
        target, live = resource.target, resource.live
        if target is None or live is None or resource.diff is None or not self._rules:
            return
        bare = self._without_rules(target, live)
        left = {change.pointer for change in resource.diff.changes}
        for change in bare:
            if change.pointer not in left:
                rule, selector = _responsible(self._rules, change.pointer, live, target)
                yield IgnoredField(change=change, rule=rule, selector=selector)

    def _without_rules(self, target: Object, live: Object) -> tuple[FieldChange, ...]:
        if self._differ is None:
            normalization = replace(normalization_of(self._comparison.inputs), rules=Normalizer(()))
            self._differ = StateDiffer(self._comparison.inputs, normalization)
        diff = self._differ.diffed(target, live).diff
        return diff.changes if diff is not None else ()


def _responsible(
    rules: Sequence[Rule], pointer: str, live: Object, target: Object
) -> tuple[Rule | None, str]:
    owners = {writer.manager for writer in writers_of(live, pointer)}
    for rule in rules:
        for selector, alone in _selectors(rule):
            if any(explain_miss(alone, side, [pointer]) is None for side in (live, target)):
                if alone.managers and selector not in owners:
                    continue
                return rule, selector
    return None, ""


def _selectors(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """The rule as one rule for each thing that it names."""
    bare = replace(rule, pointers=(), expressions=(), managers=())
    for pointer in rule.pointers:
        yield pointer, replace(bare, pointers=(pointer,))
    for expression in rule.expressions:
        yield expression, replace(bare, expressions=(expression,))
    for manager in rule.managers:
        yield manager, replace(bare, managers=(manager,))


def _idle(rule: Rule, resources: Sequence[ComparedResource]) -> IdleRule:
    """The miss that is most likely meant: near a resource that differs, then near any."""
    best: tuple[int, RuleMistake, ComparedResource] | None = None
    for resource in resources:
        if resource.live is None:
            continue
        differing = [change.pointer for change in resource.diff.changes] if resource.diff else []
        miss = explain_miss(rule, resource.live, differing)
        if miss is None:
            continue
        rank = (0 if miss.near else 2) + (0 if differing else 1)
        if best is None or rank < best[0]:
            best = rank, miss, resource
    if best is None:
        return IdleRule(rule=rule, why="the app has no live resource that it could be about")
    rank, miss, resource = best
    if not miss.near:
        return IdleRule(rule=rule, why="it matches no resource of the app")
    return IdleRule(rule=rule, why=miss.text, suggestion=miss.suggestion, about=resource)
