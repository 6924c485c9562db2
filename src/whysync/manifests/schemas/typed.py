"""Compare an object of a built-in kind with its Go type: every unknown field and every wrong type.

Mirrors strict decoding of the API server, with the fields of the chosen Kubernetes release, but continues
after the first violation and reports its position.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final

from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api.pointer import escape
from whysync.kubernetes.schema import Struct, Type
from whysync.kubernetes.schema.releases import BASE, fields_in, span_of_field
from whysync.kubernetes.schema.scalars import (
    NotOfType,
    as_bytes,
    as_duration,
    as_int_or_string,
    as_quantity,
    as_time,
)
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind

_SCALARS: Final[dict[str, Callable[[Json], object]]] = {
    "quantity": lambda value: as_quantity(value.strip() if isinstance(value, str) else value),
    "int-or-string": as_int_or_string,
    "bytes": as_bytes,
    "time": as_time,
    "microtime": lambda value: as_time(value, micro=True),
    "duration": as_duration,
}
_TYPE_NAMES: Final = {
    "string": "a string",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "quantity": "a quantity such as 100m or 2Gi",
    "int-or-string": "a whole number or a string",
    "bytes": "text in base64",
    "time": "a time such as 2026-01-31T12:00:00Z",
    "microtime": "a time such as 2026-01-31T12:00:00.000000Z",
    "duration": "a duration such as 1m30s",
    "list": "a list",
    "map": "a map",
    "struct": "a map",
}
_MAX_VIOLATIONS = 200


def violations(body: Object, kind: Type, release: int = BASE) -> list[SchemaViolation]:
    validator = _Validator(release)
    validator.struct(body, kind.struct, "", "")
    return validator.violations


class _Validator:
    def __init__(self, release: int) -> None:
        self.release = release
        self.violations: list[SchemaViolation] = []

    def struct(self, value: Object, struct: Struct, at: str, path: str) -> None:
        struct_fields = fields_in(struct, self.release)
        for key, item in value.items():
            field = struct_fields.get(key)
            if field is None:
                if len(self.violations) < _MAX_VIOLATIONS:
                    self.violations.append(self.unknown(key, value, struct, at, path))
            elif item is not None and (field.kind != "string" or item.__class__ is not str):
                self.value(item, field.type, f"{at}/{escape(key)}", f"{path}.{key}" if path else key)

    def unknown(self, key: str, value: Object, struct: Struct, at: str, path: str) -> SchemaViolation:
        struct_fields = fields_in(struct, self.release)
        span = span_of_field(struct, key)
        folded = next((name for name in struct_fields if name.lower() == key.lower()), "")
        better = folded or next(iter(get_close_matches(key, struct_fields, 1, 0.8)), "")
        if span is not None or better in value:
            better = ""
        path = f"{path}.{key}" if path else key
        return SchemaViolation(
            ViolationKind.UNKNOWN,
            f"{at}/{escape(key)}",
            f'unknown field "{path}"',
            better,
            span=span,
            path=path,
        )

    def value(self, item: Json, kind: Type, at: str, path: str) -> None:
        name = kind.kind
        if name == "struct":
            if isinstance(item, dict):
                self.struct(item, kind.struct, at, path)
                return
        elif name == "list":
            if isinstance(item, list):
                inner = kind.of
                for number, element in enumerate(item):
                    if element is not None and (inner.kind != "string" or element.__class__ is not str):
                        self.value(element, inner, f"{at}/{number}", f"{path}[{number}]")
                return
        elif name == "map":
            if isinstance(item, dict):
                inner = kind.of
                for key, element in item.items():
                    if element is not None and (inner.kind != "string" or element.__class__ is not str):
                        self.value(element, inner, f"{at}/{escape(key)}", f"{path}.{key}")
                return
        elif name == "raw" or _fits(item, kind):
            return
        if len(self.violations) < _MAX_VIOLATIONS:
            text = f"{path} must be {_TYPE_NAMES.get(name, name)}, {_actual_type(item)}"
            self.violations.append(
                SchemaViolation(ViolationKind.TYPE, at, text, value=_converted(item, name))
            )


def _fits(item: Json, kind: Type) -> bool:
    match kind.kind:
        case "string":
            return isinstance(item, str)
        case "bool":
            return isinstance(item, bool)
        case "float":
            return isinstance(item, (int, float)) and not isinstance(item, bool)
        case "int":
            if isinstance(item, bool) or not isinstance(item, int):
                return False
            return kind.bounds[0] <= item <= kind.bounds[1]
        case name:
            reader = _SCALARS.get(name)
            if reader is None:
                return True
            try:
                reader(item)
            except NotOfType:
                return False
            return True


def _actual_type(item: Json) -> str:
    """The type of the value, but not the value, which may be a secret."""
    if isinstance(item, bool):
        return "not a boolean"
    if isinstance(item, int):
        return "not this number"
    if isinstance(item, float):
        return "not a fraction"
    if isinstance(item, str):
        return "not this string"
    return "not a map" if isinstance(item, dict) else "not a list"


def _converted(item: Json, target: str) -> Json | Missing:
    """The value in the required type, if nothing is lost."""
    if target == "string" and isinstance(item, bool):
        return "true" if item else "false"
    if target == "string" and isinstance(item, int):
        return str(item)
    if target == "bool" and item in ("true", "false"):
        return item == "true"
    if target == "int" and isinstance(item, str) and item.isdecimal() and item.isascii() and len(item) < 10:
        return int(item)
    return MISSING
