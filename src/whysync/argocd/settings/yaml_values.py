"""YAML in ConfigMap values, decoded into Go types with Go's error messages.

Mirrors sigs.k8s.io/yaml `Unmarshal`: field names match case-insensitively, unknown fields are ignored, and a
number or boolean is accepted as a string.
"""

from __future__ import annotations

import json

from whysync.json_tree import Json, Object, fields, json_kind


class Malformed(Exception):
    """An invalid setting, which Argo CD cannot read either; `key` if it is not the key that was read."""

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def read_yaml(text: str) -> Json:
    from whysync.kubernetes.api.yaml import Invalid, load  # imported lazily

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
    """The field with that name, or else with another case."""
    if name in struct:
        return struct[name]
    lower = name.lower()
    return next((value for key, value in struct.items() if key.lower() == lower), None)


def text_field(struct: Object, name: str, owner: str, *, strict: bool = False) -> str:
    """`strict`: a number is not accepted as a string, as in custom Go decoders."""
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


def _mismatch(value: Json, go_type: str) -> Malformed:
    message = f"json: cannot unmarshal {json_kind(value)} into {go_type}"
    return Malformed(f"error unmarshaling JSON: while decoding JSON: {message}")
