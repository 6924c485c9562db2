"""Check a value by its type, and name all its fields."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.contracts.tree import MISSING, Json, Missing, Object
from whysync.semantics.diff.errors import DiffError
from whysync.semantics.diff.go_text import go_text
from whysync.semantics.diff.typed.fieldset import FieldSet, key_step, told, value_step
from whysync.semantics.diff.typed.schema import Atom, ListType, MapType


class TypeErrors(DiffError):
    """What does not fit a type; one text for all of it, as upstream prints it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else "\n".join(["errors:", *_indented(problems)]))


def _indented(problems: list[str]) -> list[str]:
    return [f"  {problem}" for problem in problems]


def validate(value: Json, atom: Atom) -> None:
    """Raises `TypeErrors` when the value has a field or a form that its type does not know."""
    problems = [f"{path}: {problem}" if path else problem for path, problem in _problems(value, atom, "")]
    if problems:
        raise TypeErrors(problems)


def _problems(value: Json, atom: Atom, path: str) -> Iterator[tuple[str, str]]:
    form = atom.form(value)
    if form == "map":
        assert atom.map is not None
        if isinstance(value, dict):
            yield from _map_problems(value, atom.map, path)
        elif value is not None:
            yield path, f"expected map, got &{{{go_text(value)}}}"
    elif form == "list":
        assert atom.list is not None
        if isinstance(value, list):
            yield from _list_problems(value, atom.list, path)
        elif value is not None:
            yield path, f"expected list, got &{{{go_text(value)}}}"
    elif value is not None and (problem := scalar_problem(value, atom.scalar)):
        yield path, problem


def _map_problems(value: Object, kind: MapType, path: str) -> Iterator[tuple[str, str]]:
    """Upstream stops at the first undeclared field it happens to meet; here that is the first by name."""
    for key in sorted(value):
        inner = kind.at(key)
        if inner is None:
            yield f"{path}.{key}", "field not declared in schema"
            return
        yield from _problems(value[key], inner, f"{path}.{key}")


def _list_problems(value: list[Json], kind: ListType, path: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if kind.associative:
            try:
                step = item_step(item, kind)
            except ValueError as problem:
                yield path, f"element {index}: {problem}"
                return
            if step in seen:
                yield path, f"duplicate entries for key {told(step)}"
            seen.add(step)
        yield from _problems(item, kind.element, path + told(step))


def scalar_problem(value: Json, scalar: str) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if scalar == "numeric" and not is_number:
        return f"expected numeric (int or float), got {_go_type(value)}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_text(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go_text(value)}}}"
    if scalar == "untyped" and isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{go_text(value)}}}"
    return ""


def _go_type(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "int64"


def item_step(item: Json, kind: ListType) -> str:
    """The step of an associative list's item; raises `ValueError` where it has none."""
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
    """As `item_step`, for values that were checked before."""
    try:
        return item_step(item, kind)
    except ValueError:
        return "i:-1"


def field_set(value: Json, atom: Atom) -> FieldSet:
    """Every leaf and every item of a value."""
    found = FieldSet()
    _collect(value, atom, (), found)
    return found


def _collect(value: Json, atom: Atom, path: tuple[str, ...], found: FieldSet) -> None:
    form = atom.form(value)
    if form == "scalar":
        found.insert(path)
    elif form == "map":
        assert atom.map is not None
        if atom.map.atomic:
            found.insert(path)
        elif isinstance(value, dict):
            _collect_map(value, atom.map, path, found)
    else:
        assert atom.list is not None
        if not atom.list.associative:
            found.insert(path)
        elif isinstance(value, list):
            _collect_list(value, atom.list, path, found)


def _collect_map(value: Object, kind: MapType, path: tuple[str, ...], found: FieldSet) -> None:
    for key, item in value.items():
        inner = kind.at(key)
        below = (*path, f"f:{key}")
        if inner is not None:
            _collect(item, inner, below, found)
        if item is None or item == {} or key not in kind.known:
            found.insert(below)


def _collect_list(value: list[Json], kind: ListType, path: tuple[str, ...], found: FieldSet) -> None:
    steps = [safe_step(item, kind) for item in value]
    for step, item in zip(steps, value, strict=True):
        below = (*path, step)
        found.insert(below)
        if steps.count(step) == 1:
            _collect(item, kind.element, below, found)
