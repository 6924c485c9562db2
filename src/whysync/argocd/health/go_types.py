"""Conversion of raw objects to Go types, whose errors make the health Unknown.

A shape has the Go type of each field that a check reads: a name is a scalar (`int32`, `bool`, or a string
type), a list contains one shape, `{"*": shape}` is a map and any other dictionary a struct. Differs from
upstream: other fields, timestamps and quantities are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from whysync.argocd.health.verdict import CannotJudge, HealthVerdict
from whysync.json_tree import Json, Object, text
from whysync.kubernetes.api.ref import group_of, version_of

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"

METADATA: Final[Shape] = {
    "name": "string",
    "namespace": "string",
    "generation": "int64",
    "labels": {"*": "string"},
    "annotations": {"*": "string"},
    "finalizers": ["string"],
}


class GoCheck(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """The kind in upstream's error messages."""
    judge: Callable[[Object], HealthVerdict]
    versions: tuple[str, ...] = ()
    """Empty if upstream reads the raw object of any version."""
    shape: Shape | None = None

    def __call__(self, obj: Object) -> HealthVerdict:
        if self.versions and version_of(text(obj.get("apiVersion"))) not in self.versions:
            raise CannotJudge(f"unsupported {self.name} GVK: {_gvk(obj)}")
        problem = conversion_problem(obj, self.shape) if self.shape is not None else None
        if problem is not None:
            raise CannotJudge(f"failed to convert unstructured {self.name} to typed: {problem}")
        return self.judge(obj)


def conversion_problem(value: Json, shape: Shape) -> str | None:
    """Mirrors `fromUnstructured` of k8s.io/apimachinery 0.36 with its messages; null is the zero value."""
    if value is None:
        return None
    if isinstance(shape, str):
        return _scalar_problem(value, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return next((p for item in value if (p := conversion_problem(item, shape[0]))), None)
    each = shape.get("*")
    if not isinstance(value, dict):
        return f"cannot restore {'struct from:' if each is None else 'map from'} {_kind(value)}"
    if each is not None:
        return next((p for item in value.values() if (p := conversion_problem(item, each))), None)
    return next(
        (p for key, field_shape in shape.items() if (p := conversion_problem(value.get(key), field_shape))),
        None,
    )


def _scalar_problem(value: Json, go_type: str) -> str | None:
    kind = _kind(value)
    if go_type in ("int32", "int64"):
        if kind == "int64" or (isinstance(value, float) and value.is_integer()):
            return None
        return (
            f"cannot convert float64 to {go_type}" if kind == "float64" else f"unrecognized type: {go_type}"
        )
    expected = "bool" if go_type == "bool" else "string"
    if kind == expected:
        return None
    # Go could convert a number to a character, so this has a separate error.
    if expected == "string" and kind == "int64":
        return f"cannot convert int64 to {go_type}"
    return f"unrecognized type: {expected}"


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "slice"
        case _:
            return "map"


def _gvk(obj: Object) -> str:
    api_version = text(obj.get("apiVersion"))
    return f"{group_of(api_version)}/{version_of(api_version)}, Kind={text(obj.get('kind'))}"


def conditions_shape(prefix: str) -> Shape:
    """A list of conditions; `prefix` is the prefix of the Go type, such as `v1.Deployment`."""
    return [
        {
            "type": f"{prefix}ConditionType",
            "status": "v1.ConditionStatus",
            "reason": "string",
            "message": "string",
        }
    ]
