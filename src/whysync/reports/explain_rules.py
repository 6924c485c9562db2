"""`explain RULE|CAUSE` in every output format: the page of each rule, or a list of rules."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from whysync.diagnosis.rule import GROUPS, AnyRule
from whysync.diagnosis.symptom import Side
from whysync.json_tree import Object
from whysync.queries.advice import advice_for
from whysync.reports import output
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.output import Safe


def render(rules: Sequence[AnyRule], *, format: str, pages: bool) -> Safe:
    """The page of each rule if `pages`; otherwise one line per rule."""
    match format:
        case "json":
            return as_json({"version": 1, "rules": [_as_object(rule) for rule in rules]})
        case "yaml":
            return as_yaml({"version": 1, "rules": [_as_object(rule) for rule in rules]})
        case "name":
            return output.text(rule.id for rule in rules)
        case "markdown":
            lines = _joined(map(_markdown, rules)) if pages else _markdown_list(rules)
        case _:
            lines = _joined(map(_page, rules)) if pages else _list(rules)
    return output.text(lines)


def _joined(pages: Iterable[str]) -> list[str]:
    """The pages are docstrings of whysync itself, in Markdown."""
    return "\n".join(pages).removesuffix("\n").split("\n")


def _runbook(rule: AnyRule) -> str:
    """The general advice that `diagnose -o markdown` also shows."""
    if rule.side is Side.NONE:
        return ""
    advice = advice_for(rule.cause, rule.side)
    return (
        f"\n\n## What not to do\n{_filled(advice.dont)}\n\n## How to verify\n{_filled(_VERIFY[rule.side])}"
        f"\n\n## How to prevent\n{_filled(advice.prevent)}"
    )


_VERIFY = {
    Side.COMPARE: "`argocd app get APP --hard-refresh` shows no ComparisonError.",
    Side.DRIFT: "`argocd app diff APP` is empty, now and after the next reconciliation.",
    Side.APPLY: "`argocd app wait APP --operation --health` succeeds.",
    Side.HEALTH: "`argocd app wait APP --health` succeeds, and again after some minutes.",
    Side.FRESH: "`argocd app get APP --refresh` shows the latest commit in Git.",
    Side.NONE: "`argocd app get APP` shows Synced and Healthy.",
}


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _as_object(rule: AnyRule) -> Object:
    return {
        "rule": rule.id,
        "cause": rule.cause,
        "side": rule.side.value,
        "group": rule.group,
        "scope": rule.scope.name.lower(),
        "since": rule.since,
        "needs": [*sorted(fact.value for fact in rule.needs)],
        "docs": rule.docs,
    }


def _page(rule: AnyRule) -> str:
    head = f"{rule.id}  (cause {rule.cause}, {_group(rule)}, since {rule.since})"
    return f"{head}\n\n{rule.docs}{_runbook(rule)}\n"


def _markdown(rule: AnyRule) -> str:
    title, _, rest = rule.docs.partition("\n")
    about = f"`{rule.id}` · cause `{rule.cause}` · {_group(rule)}"
    return f"# {title}\n\n{about}\n{rest.rstrip()}{_runbook(rule)}\n"


def _group(rule: AnyRule) -> str:
    return f"side {rule.side}" if rule.side is not Side.NONE else rule.group


def _list(rules: Sequence[AnyRule]) -> list[str]:
    """Rules by side, then those of lint and audit."""
    lines: list[str] = []
    for group in GROUPS:
        group_rules = [rule for rule in rules if rule.group == group]
        lines += [f"{group}:"] if group_rules else []
        lines += [f"  {rule.cause:<26} {rule.id:<44} {rule.title}" for rule in group_rules]
    return lines


def _markdown_list(rules: Sequence[AnyRule]) -> list[str]:
    lines = ["| group | cause | rule | what is wrong |", "|---|---|---|---|"]
    lines += [f"| {rule.group} | {rule.cause} | {rule.id} | {rule.title} |" for rule in rules]
    return lines
