"""Mistakes in ignore rules that Argo CD does not report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from whysync.argocd.ignore_differences.remove_ignored import PointerOutcome, path_of
from whysync.argocd.ignore_differences.rules import Mismatch, Rule
from whysync.argocd.scripts.jq import BadExpression, Deletion, DeletionFailed, plain
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Ref, ref_of


class MistakeKind(StrEnum):
    NAMES_NO_FIELD = "names-no-field"
    GROUP = "group"
    KIND = "kind"
    NAME = "name"
    NAMESPACE = "namespace"
    POINTER = "pointer"
    """The pointer has invalid syntax."""
    EXPRESSION = "expression"
    """The jq expression fails."""
    MANAGER = "manager"
    ELSEWHERE = "elsewhere"
    """The rule has an effect, but not on a field that differs."""


class RuleMistake(msgspec.Struct, frozen=True, kw_only=True):
    kind: MistakeKind
    text: str
    selector: str = ""
    """The pointer, expression or manager with the mistake."""
    suggestion: str = ""
    """The correct text, if it is clear."""
    near: bool = True
    """Is the rule probably for this object? A rule for another kind is not."""


def explain_miss(rule: Rule, obj: Object, differing: Sequence[str]) -> RuleMistake | None:
    """Why `rule` removes none of the `differing` JSON pointers of `obj`; `None` if it removes one."""
    ref = ref_of(obj)
    if not rule.names_a_field:
        return RuleMistake(kind=MistakeKind.NAMES_NO_FIELD, text="the rule names no field at all")
    mismatch = rule.mismatch(ref)
    if mismatch is not None:
        return _of_mismatch(rule, ref, mismatch)
    misses: list[RuleMistake] = []
    for pointer in rule.pointers:
        miss = _of_pointer(pointer, obj, differing)
        if miss is None:
            return None
        misses.append(miss)
    for expression in rule.expressions:
        miss = _of_expression(expression, obj, differing)
        if miss is None:
            return None
        misses.append(miss)
    if rule.managers:
        miss = _of_managers(rule, ref, obj)
        if miss is None:
            return None
        misses.append(miss)
    # a syntax mistake is more relevant than an effect on other fields
    return min(misses, key=lambda miss: miss.kind is MistakeKind.ELSEWHERE)


def _of_mismatch(rule: Rule, ref: Ref, mismatch: Mismatch) -> RuleMistake:
    same_kind = rule.kind.lower() == ref.kind.lower()
    match mismatch:
        case Mismatch.GROUP:
            return RuleMistake(
                kind=MistakeKind.GROUP,
                text=_group_text(rule.group, ref),
                selector=rule.group,
                suggestion=ref.group,
                near=same_kind,
            )
        case Mismatch.KIND:
            near = same_kind or rule.kind.lower() in _plurals(ref.kind)
            message = f"kind `{rule.kind}` is not `{ref.kind}`"
            return RuleMistake(
                kind=MistakeKind.KIND,
                text=message,
                selector=rule.kind,
                suggestion=ref.kind if near else "",
                near=near,
            )
        case Mismatch.NAME:
            return _of_name(MistakeKind.NAME, rule.name, ref.name)
        case Mismatch.NAMESPACE:
            if not ref.namespace:
                message = "the object has no namespace, so a rule with a namespace never matches it"
                return RuleMistake(kind=MistakeKind.NAMESPACE, text=message, selector=rule.namespace)
            return _of_name(MistakeKind.NAMESPACE, rule.namespace, ref.namespace)


def _group_text(group: str, ref: Ref) -> str:
    if not group:
        return f"an empty group is the core group only; this kind is of `{ref.group}`"
    if "/" in group:
        return f"group `{group}` must not include the version"
    if not ref.group:
        return f"group `{group}` should be empty: this kind is of the core group"
    return f"group `{group}` is not `{ref.group}`"


def _plurals(kind: str) -> tuple[str, ...]:
    lower = kind.lower()
    return lower + "s", lower + "es", lower.removesuffix("y") + "ies"


def _of_name(kind: MistakeKind, configured: str, actual: str) -> RuleMistake:
    is_glob = any(char in configured for char in "*?[{")
    message = f"{kind} `{configured}` is compared as it stands, no glob" if is_glob else ""
    near = is_glob or configured.lower() == actual.lower()
    return RuleMistake(
        kind=kind, text=message or f"{kind} `{configured}` is not `{actual}`", selector=configured, near=near
    )


_BRACKETED = r"\[(\d+)\]"


def _of_pointer(pointer: str, obj: Object, differing: Sequence[str]) -> RuleMistake | None:
    path = path_of(obj, pointer)
    if not isinstance(path, PointerOutcome):
        where = pointers.join(path)
        if any(pointers.within(field, where) or pointers.within(where, field) for field in differing):
            return None
    for problem in (_misspelt, _unescaped, _shifted):
        miss = problem(pointer, differing)
        if miss is not None:
            return miss
    message = (
        "nothing is at this pointer"
        if isinstance(path, PointerOutcome)
        else "the pointer is of another field"
    )
    return RuleMistake(kind=MistakeKind.ELSEWHERE, text=message, selector=pointer)


def _misspelt(pointer: str, differing: Sequence[str]) -> RuleMistake | None:
    if pointer.startswith(".") or (not pointer.startswith("/") and "." in pointer):
        message, right = "a jq expression stands under jsonPointers", _as_pointer(pointer)
    elif not pointer.startswith("/"):
        message, right = "a JSON pointer starts with `/`", f"/{pointer}"
    elif re.search(_BRACKETED, pointer):
        message, right = (
            "a JSON pointer has no brackets: the index of a list is a segment (/containers/0)",
            "",
        )
        right = re.sub(_BRACKETED, r"/\1", pointer)
    elif "*" in pointer.split("/") or "[]" in pointer:
        message, right = "a JSON pointer has no wildcards; use jqPathExpressions", ""
    elif pointer.endswith("/"):
        message, right = "the `/` at the end names an empty key", pointer.rstrip("/")
    elif pointer not in differing and (similar := _same_letters(pointer, differing)):
        message, right = "upper and lower case count", similar
    elif "." in pointer and (similar := _dotted(pointer, differing)):
        message, right = "the parts of a JSON pointer are separated by `/`", similar
    else:
        return None
    return RuleMistake(kind=MistakeKind.POINTER, text=message, selector=pointer, suggestion=right)


def _as_pointer(expression: str) -> str:
    """`.spec.containers[0].image` → `/spec/containers/0/image`, for plain paths."""
    tokens: list[str | int] = []
    for step in plain.parse(expression if expression.startswith(".") else f".{expression}") or ():
        match step:
            case plain.Field(name):
                tokens.append(name)
            case plain.Item(index):
                tokens.append(index)
            case _:
                return ""
    return pointers.join(tokens)


def _same_letters(pointer: str, differing: Sequence[str]) -> str:
    return next((field for field in differing if field.lower() == pointer.lower()), "")


def _dotted(pointer: str, differing: Sequence[str]) -> str:
    return next((field for field in differing if field == pointer.replace(".", "/")), "")


def _unescaped(pointer: str, differing: Sequence[str]) -> RuleMistake | None:
    """Keys such as `example.com/owner` contain slashes, which a pointer escapes as `~1`."""
    for field in differing:
        if "~1" in field and field.replace("~1", "/").replace("~0", "~") == pointer:
            message = "the `/` inside a key must be written `~1`"
            return RuleMistake(kind=MistakeKind.POINTER, text=message, selector=pointer, suggestion=field)
    return None


def _shifted(pointer: str, differing: Sequence[str]) -> RuleMistake | None:
    for field in differing:
        ours, theirs = pointer.split("/"), field.split("/")
        differences = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
        if (
            len(ours) <= len(theirs)
            and differences
            and all(a.isdecimal() and b.isdecimal() for a, b in differences)
        ):
            message = (
                f"the difference is at another position of the list ({field}); select the item by its name"
                " with jq"
            )
            return RuleMistake(kind=MistakeKind.POINTER, text=message, selector=pointer)
    return None


def _of_expression(expression: str, obj: Object, differing: Sequence[str]) -> RuleMistake | None:
    try:
        remaining = Deletion(expression).apply(obj)
    except BadExpression as problem:
        return RuleMistake(kind=MistakeKind.EXPRESSION, text=f"jq error: {problem}", selector=expression)
    except DeletionFailed as problem:
        message = str(problem).removeprefix("JQ patch returned error: ")
        return RuleMistake(
            kind=MistakeKind.EXPRESSION,
            text=f"jq error: {message}",
            selector=expression,
            suggestion=expression.replace("[]", "[]?")
            if "iterate" in message and "[]?" not in expression
            else "",
        )
    if any(pointers.resolve(obj, field) != pointers.resolve(remaining, field) for field in differing):
        return None
    message = "the expression removes nothing" if remaining == obj else "the expression removes another field"
    return RuleMistake(kind=MistakeKind.ELSEWHERE, text=message, selector=expression)


def _of_managers(rule: Rule, ref: Ref, obj: Object) -> RuleMistake | None:
    """Only checks whether the managers exist; which fields differ depends on both sides."""
    if not rule.trusts_managers_for(ref):
        message = "managers in argocd-cm count only under the exact group and kind, or for all kinds"
        return RuleMistake(kind=MistakeKind.MANAGER, text=message, selector=rule.override_key or "")
    entries = items(fields(obj.get("metadata")).get("managedFields"))
    present = {text(fields(entry).get("manager")) for entry in entries}
    absent = [manager for manager in rule.managers if manager not in present]
    if len(absent) < len(rule.managers):
        return None
    near = next((name for name in sorted(present) if name.lower() == absent[0].lower()), "")
    message = f"no field of the object is owned by `{absent[0]}`"
    return RuleMistake(kind=MistakeKind.MANAGER, text=message, selector=absent[0], suggestion=near)
