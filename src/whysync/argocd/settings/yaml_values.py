"""YAML in a ConfigMap's value, read into Go's types with Go's complaints.

Mirrors sigs.k8s.io/yaml `Unmarshal`: names of fields match without regard to case, unknown ones are skipped,
and a bare number or boolean is taken as text where text is wanted.
"""

from __future__ import annotations

import json

from whysync.json_tree import Json, Object, fields, json_kind


class Malformed(Exception):
    """A setting that Argo CD cannot read either; `key` where it is not plain which one."""

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def read_yaml(text: str) -> Json:
    from whysync.kubernetes.api.yaml import Invalid, load  # only those who read settings pay for it

    try:
        return load(text)
    except Invalid as problem:
        line = f"line {problem.line}: " if problem.line else ""
        raise Malformed(f"error converting YAML to JSON: yaml: {line}{problem.problem}") from None
    except RecursionError:
        raise Malformed("error converting YAML to JSON: yaml: exceeded max depth") from None


def mapping(value: Json, go_type: str) -> Object:
    if value is not None and not isinstance(value, dict):
        raise _mismatch(value, f"Go value of type {go_type}")
    return fields(value)


def sequence(value: Json, go_type: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _mismatch(value, f"Go value of type {go_type}")
    return value


def field(struct: Object, name: str) -> Json:
    """Exactly that name, else the same one in another case."""
    if name in struct:
        return struct[name]
    lower = name.lower()
    return next((value for key, value in struct.items() if key.lower() == lower), None)


def text_field(struct: Object, name: str, owner: str, *, strict: bool = False) -> str:
    """`strict`: where Go decodes JSON by hand, a number is not taken as text."""
    value = field(struct, name)
    if value is None or isinstance(value, str):
        return value or ""
    if strict or isinstance(value, dict | list):
        raise _mismatch(value, f"Go struct field {owner}.{name} of type string")
    return _as_text(value)


def flag_field(struct: Object, name: str, owner: str, default: bool = False) -> bool:
    value = field(struct, name)
    if value is None or isinstance(value, bool):
        return default if value is None else value
    raise _mismatch(value, f"Go struct field {owner}.{name} of type bool")


def texts_field(struct: Object, name: str, owner: str) -> tuple[str, ...]:
    value = field(struct, name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _mismatch(value, f"Go struct field {owner}.{name} of type []string")
    for item in value:
        if isinstance(item, dict | list):
            raise _mismatch(item, f"Go struct field {owner}.{name} of type string")
    return tuple(_as_text(item) for item in value)


def _as_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _mismatch(value: Json, where: str) -> Malformed:
    message = f"json: cannot unmarshal {json_kind(value)} into {where}"
    return Malformed(f"error unmarshaling JSON: while decoding JSON: {message}")
