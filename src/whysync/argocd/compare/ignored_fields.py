"""Fields that ignore rules hide in a comparison, and rules that hide nothing.

A field is ignored if it would differ without the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.state_diffs import StateDiffer, normalization_of
from whysync.argocd.diff.changes import FieldChange
from whysync.argocd.ignore_differences import Normalizer, Rule, RuleMistake, explain_miss
from whysync.json_tree import Object
from whysync.kubernetes.field_writers import writers_of


class IgnoredField(msgspec.Struct, frozen=True, kw_only=True):
    change: FieldChange
    rule: Rule | None
    """`None` if several rules together hide the field, or if the rule cannot be determined."""
    selector: str = ""
    """The pointer, expression or manager of the rule that hides the field."""


class IdleRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the Application that hides nothing, and why; `about` is the resource it is probably for."""

    rule: Rule
    why: str
    suggestion: str = ""
    about: ComparedResource | None = None


class IgnoredFields:
    """Compares again without any rule; additional differences are ignored fields."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._rules = comparison.rules.rules if comparison.rules is not None else ()
        self._differ: StateDiffer | None = None
        self._cache: dict[int, tuple[IgnoredField, ...]] = {}

    def of(self, resource: ComparedResource) -> tuple[IgnoredField, ...]:
        ignored_fields = self._cache.get(id(resource))
        if ignored_fields is None:
            ignored_fields = self._cache[id(resource)] = tuple(self._ignored_fields(resource))
        return ignored_fields

    def idle_rules(self) -> tuple[IdleRule, ...]:
        """The rules of `spec.ignoreDifferences` that hide nothing in any resource."""
        resources = [resource for resource in self._comparison.resources if resource.live is not None]
        effective = {id(field.rule) for resource in resources for field in self.of(resource) if field.rule}
        idle = (rule for rule in self._rules if rule.override_key is None and id(rule) not in effective)
        return tuple(_idle(rule, resources) for rule in idle)

    def _ignored_fields(self, resource: ComparedResource) -> Iterator[IgnoredField]:
        target, live = resource.target, resource.live
        if target is None or live is None or resource.diff is None or not self._rules:
            return
        unfiltered = self._without_rules(target, live)
        visible = {change.pointer for change in resource.diff.changes}
        for change in unfiltered:
            if change.pointer not in visible:
                rule, selector = _responsible(self._rules, change.pointer, live, target)
                yield IgnoredField(change=change, rule=rule, selector=selector)

    def _without_rules(self, target: Object, live: Object) -> tuple[FieldChange, ...]:
        if self._differ is None:
            normalization = replace(normalization_of(self._comparison.inputs), rules=Normalizer(()))
            self._differ = StateDiffer(self._comparison.inputs, normalization)
        diff = self._differ.diff_pair(target, live).diff
        return diff.changes if diff is not None else ()


def _responsible(
    rules: Sequence[Rule], pointer: str, live: Object, target: Object
) -> tuple[Rule | None, str]:
    owners = {writer.manager for writer in writers_of(live, pointer)}
    for rule in rules:
        for selector, single_rule in _selectors(rule):
            if any(explain_miss(single_rule, side, [pointer]) is None for side in (live, target)):
                if single_rule.managers and selector not in owners:
                    continue
                return rule, selector
    return None, ""


def _selectors(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Each pointer, expression and manager of the rule, as a rule of its own."""
    bare = replace(rule, pointers=(), expressions=(), managers=())
    for pointer in rule.pointers:
        yield pointer, replace(bare, pointers=(pointer,))
    for expression in rule.expressions:
        yield expression, replace(bare, expressions=(expression,))
    for manager in rule.managers:
        yield manager, replace(bare, managers=(manager,))


def _idle(rule: Rule, resources: Sequence[ComparedResource]) -> IdleRule:
    """The most likely mistake: first of rules for resources that differ, then for any resource."""
    best: tuple[int, RuleMistake, ComparedResource] | None = None
    for resource in resources:
        if resource.live is None:
            continue
        differing = [change.pointer for change in resource.diff.changes] if resource.diff else []
        mistake = explain_miss(rule, resource.live, differing)
        if mistake is None:
            continue
        rank = (0 if mistake.near else 2) + (0 if differing else 1)
        if best is None or rank < best[0]:
            best = rank, mistake, resource
    if best is None:
        return IdleRule(rule=rule, why="the app has no live resources")
    rank, mistake, resource = best
    if not mistake.near:
        return IdleRule(rule=rule, why="it matches no resource of the app")
    return IdleRule(rule=rule, why=mistake.text, suggestion=mistake.suggestion, about=resource)
