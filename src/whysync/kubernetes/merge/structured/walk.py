"""Validate a value by its type, and collect the set of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from whysync.golang.fmt import go_syntax, go_text, go_type
from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.structured.fieldset import FieldSet, key_step, step_text, value_step
from whysync.kubernetes.merge.structured.schema import DEDUCED, Atom, ListType, MapType

_Problems: TypeAlias = "Sequence[tuple[str, str]]"


class TypeErrors(DiffError):
    """Violations of a type, in one message as upstream prints them."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else "\n".join(["errors:", *_indented(problems)]))


def _indented(problems: list[str]) -> list[str]:
    return [f"  {problem}" for problem in problems]


def validate(value: Json, atom: Atom) -> None:
    """Raises `TypeErrors` if the value has an unknown field or a wrong type."""
    problems = _problems(value, atom)
    if problems:
        raise TypeErrors([f"{path}: {problem}" if path else problem for path, problem in problems])


def _problems(value: Json, atom: Atom) -> _Problems:
    """Paths are built only for problems, on the way back, because most values have none."""
    if value is None or atom is DEDUCED:
        return ()
    form = atom.form(value)
    if form == "scalar":
        problem = scalar_problem(value, atom.scalar)
        return (("", problem),) if problem else ()
    if form == "map":
        assert atom.map is not None
        if isinstance(value, dict):
            return _map_problems(value, atom.map)
    elif isinstance(value, list):
        assert atom.list is not None
        return _list_problems(value, atom.list)
    return (("", f"expected {form}, got &{{{go_text(value)}}}"),)


def _map_problems(value: Object, kind: MapType) -> _Problems:
    """Upstream stops at the first undeclared field in random order; here that is the first by name."""
    problems: list[tuple[str, str]] = []
    known, element = kind.known, kind.element
    complete = element is not None or value.keys() <= known.keys()
    for key in value if complete else sorted(value):
        inner = known.get(key) or element
        if inner is None:
            problems.append((f".{key}", "field not declared in schema"))
            break
        inner_problems = _problems(value[key], inner)
        if inner_problems:
            problems.extend((f".{key}{path}", problem) for path, problem in inner_problems)
    return problems


def _list_problems(value: list[Json], kind: ListType) -> _Problems:
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if kind.associative:
            try:
                step = item_step(item, kind)
            except ValueError as problem:
                problems.append(("", f"element {index}: {problem}"))
                break
            if step in seen:
                problems.append(("", f"duplicate entries for key {step_text(step)}"))
            seen.add(step)
        inner_problems = _problems(item, kind.element)
        if inner_problems:
            problems.extend((step_text(step) + path, problem) for path, problem in inner_problems)
    return problems


def scalar_problem(value: Json, scalar: str) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if scalar == "numeric" and not is_number:
        return f"expected numeric (int or float), got {go_type(value)}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go_text(value)}}}"
    if scalar == "untyped" and isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{go_text(value)}}}"
    return ""


def item_step(item: Json, kind: ListType) -> str:
    """The step of an item of an associative list; raises `ValueError` if it has none."""
    if not kind.keys:
        if isinstance(item, dict):
            raise ValueError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise ValueError("not supported: associative list with lists as elements")
        if item is None:
            raise ValueError("associative list without keys has an element that's an explicit null")
        return value_step(item)
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ValueError("associative list with keys may not have non-map elements")
    keys: Object = {}
    for key in kind.keys:
        if key in item:
            keys[key] = item[key]
        elif not isinstance(default := _key_default(kind, key), Missing):
            keys[key] = default
    if not keys:
        names = " ".join(f'"{key}"' for key in kind.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_step(keys)


def _key_default(kind: ListType, key: str) -> Json | Missing:
    inner = kind.element.map.known.get(key) if kind.element.map is not None else None
    return MISSING if inner is None else inner.default


def safe_step(item: Json, kind: ListType) -> str:
    """As `item_step`, for values that may be invalid."""
    try:
        return item_step(item, kind)
    except ValueError:
        return "i:-1"


def field_set(value: Json, atom: Atom) -> FieldSet:
    """Every leaf and every item of a value."""
    top = FieldSet()
    _collect(value, atom, "", top)
    return top.children.get("") or FieldSet()


def _collect(value: Json, atom: Atom, step: str, parent: FieldSet) -> None:
    form = atom.form(value)
    if form == "map":
        assert atom.map is not None
        if not atom.map.atomic:
            if isinstance(value, dict):
                _add(parent, step, _map_fields(value, atom.map))
            return
    elif form == "list":
        assert atom.list is not None
        if atom.list.associative:
            if isinstance(value, list):
                _add(parent, step, _list_fields(value, atom.list))
            return
    parent.members.add(step)


def _add(parent: FieldSet, step: str, child: FieldSet) -> None:
    if child.members or child.children:
        parent.children[step] = child


def _map_fields(value: Object, kind: MapType) -> FieldSet:
    fields_of_map = FieldSet()
    known, element = kind.known, kind.element
    for key, item in value.items():
        inner = known.get(key)
        step = f"f:{key}"
        if inner is None:
            fields_of_map.members.add(step)
            inner = element
        elif item is None or item == {}:
            fields_of_map.members.add(step)
        if inner is not None:
            _collect(item, inner, step, fields_of_map)
    return fields_of_map


def _list_fields(value: list[Json], kind: ListType) -> FieldSet:
    fields_of_list = FieldSet()
    steps = [safe_step(item, kind) for item in value]
    repeated = {step for step in steps if steps.count(step) > 1} if len(set(steps)) < len(steps) else ()
    for step, item in zip(steps, value, strict=True):
        fields_of_list.members.add(step)
        if step not in repeated:
            _collect(item, kind.element, step, fields_of_list)
    return fields_of_list
