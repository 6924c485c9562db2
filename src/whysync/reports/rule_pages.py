"""`explain`: the page of each rule, or the list of them, in every form."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.contracts.tree import Object
from whysync.contracts.yaml import dump
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
    return f"{rule.id}  (cause {rule.cause}, side {rule.side}, since {rule.since})\n\n{rule.docs}\n"


def _markdown(rule: Rule) -> str:
    title, _, rest = rule.docs.partition("\n")
    return f"# {title}\n\n`{rule.id}` · cause `{rule.cause}` · side {rule.side}\n{rest.rstrip()}\n"


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
