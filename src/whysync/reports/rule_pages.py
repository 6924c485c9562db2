"""`explain`: the page of each rule, or the list of them, in every form."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from whysync.contracts.tree import Object
from whysync.contracts.yaml import dump
from whysync.diagnosis.advice import advice_for
from whysync.diagnosis.rule import Rule
from whysync.diagnosis.symptom import Side
from whysync.reports.json_v1 import indented


def render(rules: Sequence[Rule], *, form: str, pages: bool) -> str:
    """`pages` are whole; without them it is one line for each rule."""
    match form:
        case "json":
            return indented({"version": 1, "rules": [_as_object(rule) for rule in rules]})
        case "yaml":
            return dump({"version": 1, "rules": [_as_object(rule) for rule in rules]})
        case "name":
            return "".join(f"{rule.id}\n" for rule in rules)
        case "markdown":
            return "\n".join(_markdown(rule) for rule in rules) if pages else _markdown_list(rules)
        case _:
            return "\n".join(_page(rule) for rule in rules) if pages else _list(rules)


def _runbook(rule: Rule) -> str:
    """What the pages of a single app say too, in general."""
    advice = advice_for(rule.cause, rule.side)
    return (
        f"\n\n## What not to do\n{_filled(advice.dont)}\n\n## How to verify\n{_filled(_VERIFY[rule.side])}"
        f"\n\n## How to prevent\n{_filled(advice.prevent)}"
    )


_VERIFY = {
    Side.COMPARE: "`argocd app get APP --hard-refresh` shows no ComparisonError any more.",
    Side.DRIFT: "`argocd app diff APP` is empty, now and after the next reconciliation.",
    Side.APPLY: "`argocd app wait APP --operation --health` ends well.",
    Side.HEALTH: "`argocd app wait APP --health` ends well, and stays so for some minutes.",
    Side.FRESH: "`argocd app get APP --refresh` shows the commit that Git has.",
    Side.NONE: "`argocd app get APP` shows Synced and Healthy.",
}


def _filled(words: str) -> str:
    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)


def _as_object(rule: Rule) -> Object:
    return {
        "rule": rule.id,
        "cause": rule.cause,
        "side": rule.side.value,
        "since": rule.since,
        "needs": [*sorted(fact.value for fact in rule.needs)],
        "docs": rule.docs,
    }


def _page(rule: Rule) -> str:
    head = f"{rule.id}  (cause {rule.cause}, side {rule.side}, since {rule.since})"
    return f"{head}\n\n{rule.docs}{_runbook(rule)}\n"


def _markdown(rule: Rule) -> str:
    title, _, rest = rule.docs.partition("\n")
    about = f"`{rule.id}` · cause `{rule.cause}` · side {rule.side}"
    return f"# {title}\n\n{about}\n{rest.rstrip()}{_runbook(rule)}\n"


def _list(rules: Sequence[Rule]) -> str:
    """By side."""
    lines: list[str] = []
    for side in Side:
        found = [rule for rule in rules if rule.side is side]
        lines += [f"{side}:"] if found else []
        lines += [f"  {rule.cause:<26} {rule.id:<44} {rule.title}" for rule in found]
    return "\n".join(lines) + "\n"


def _markdown_list(rules: Sequence[Rule]) -> str:
    lines = ["| side | cause | rule | what is wrong |", "|---|---|---|---|"]
    lines += [f"| {rule.side} | {rule.cause} | {rule.id} | {rule.title} |" for rule in rules]
    return "\n".join(lines) + "\n"
