"""When a Job counts as failed or done: `podFailurePolicy` and `successPolicy`."""

from __future__ import annotations

from whysync.golang.fmt import quoted
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    Problems,
    duplicate,
    each,
    invalid,
    invalid_without_value,
    required,
    too_many,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")


def failure_policy(spec: Object, path: str) -> Problems:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    rules = items(policy.get("rules"))
    if len(rules) > 20:
        yield too_many(f"{path}.rules", len(rules), 20)
    held = fields(dig(spec, "template", "spec"))
    known = {
        text(fields(item).get("name"))
        for field in ("containers", "initContainers")
        for item in items(held.get(field))
    }
    for index, rule in enumerate(rules):
        yield from _rule(fields(rule), f"{path}.rules[{index}]", spec, known)


def success_policy(spec: Object, path: str) -> Problems:
    policy = spec.get("successPolicy")
    if not isinstance(policy, dict):
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, internal(policy, "batch/v1.SuccessPolicy"), "requires indexed completion mode")
        return
    rules = items(policy.get("rules"))
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", detail)
    for index, item in enumerate(rules):
        rule, where = fields(item), f"{path}.rules[{index}]"
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            yield required(where, "at least one of succeededCount or succeededIndexes must be specified")
        most = integer(spec.get("completions"))
        if count is not None and integer(count) > most:
            detail = f"must be less than or equal to {most} (the number of specified completions)"
            yield invalid(f"{where}.succeededCount", count, detail)


def _rule(rule: Object, path: str, spec: Object, known: set[str]) -> Problems:
    action = text(rule.get("action"))
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from _choice(action, f"{path}.action", _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), items(rule.get("onPodConditions"))
    if isinstance(codes, dict):
        yield from _exit_codes(codes, f"{path}.onExitCodes", known)
    for index, item in enumerate(conditions):
        where, kind = f"{path}.onPodConditions[{index}]", text(fields(item).get("type"))
        yield from each(f"{where}.type", kind, names.label_key(kind))
        yield from _choice(text(fields(item).get("status")), f"{where}.status", _STATUSES)
    if isinstance(codes, dict) and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield invalid_without_value(path, detail)
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        yield invalid_without_value(path, detail)


def _exit_codes(codes: Object, path: str, known: set[str]) -> Problems:
    operator, values = text(codes.get("operator")), items(codes.get("values"))
    yield from _choice(operator, f"{path}.operator", _OPERATORS)
    container = codes.get("containerName")
    if container is not None and container not in known:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", container, detail)
    if not values:
        shown = values if isinstance(codes.get("values"), list) else None
        yield invalid(f"{path}.values", shown, "at least one value is required")
    elif len(values) > 255:
        yield too_many(f"{path}.values", len(values), 255)
    numbers = [integer(value) for value in values]
    for index, number in enumerate(numbers):
        if operator == "In" and number == 0:
            yield invalid(f"{path}.values[{index}]", number, "must not be 0 for the In operator")
        if number in numbers[:index]:
            yield duplicate(f"{path}.values[{index}]", number)
    if numbers != sorted(numbers):
        yield invalid(f"{path}.values", values, "must be ordered")


def _choice(value: str, path: str, known: tuple[str, ...]) -> Problems:
    if not value:
        yield required(path, f"valid values: [{' '.join(quoted(name) for name in known)}]")
    elif value not in known:
        yield unsupported(path, value, known)
