"""Fill in what the API server would fill in.

Mirrors the defaulting functions of Kubernetes 1.36 that Argo CD 3.6 compiles in (`legacyscheme`). It runs
them on both sides of a comparison, so a field that Git leaves out, or that an ignore rule took away, shows
its default.

`values` has the defaults that are constants, `functions` those that depend on other fields.
`with_defaults(obj, type)` walks a type once to find out where in it defaults exist, and then touches
nothing else. Differs: requests of a bare Pod are not summed up into pod-level requests.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from whysync.golang.quantity import BadQuantity, rounded_up_to_milli
from whysync.json_tree import Json, Object, copy, copy_object
from whysync.kubernetes.schema import Field, Type
from whysync.kubernetes.schema.defaults.functions import FILLS, Fill, own
from whysync.kubernetes.schema.defaults.values import NONZERO_VALUES, VALUES

# Packages whose defaults Argo CD installs. `resource` and `storagemigration` are not among them.
INSTALLED: Final = frozenset(
    {
        "admissionregistration", "apps", "autoscaling", "batch", "certificates", "coordination", "core",
        "discovery", "events", "extensions", "flowcontrol", "networking", "node", "policy", "rbac",
        "scheduling", "storage",
    }
)  # fmt: skip


class _Plan(NamedTuple):
    """What to do for one struct; an empty plan is never kept."""

    fill: Fill | None
    values: tuple[tuple[str, str, Json], ...]
    """Name of the inner struct or empty, field, default."""
    nonzero: Object
    structs: tuple[tuple[str, str, bool], ...]
    lists: tuple[tuple[str, str], ...]
    amounts: tuple[str, ...]


def with_defaults(obj: Object, kind: Type) -> Object:
    """The object with its defaults; parts that need none are shared with the argument."""
    return _filled(obj, kind.name)


def _filled(obj: Object, name: str) -> Object:
    plan = _plan(name)
    if plan is None:
        return obj
    new = dict(obj)
    if plan.fill is not None:
        plan.fill(new)
    for struct, key, value in plan.values:
        target = own(new, struct) if struct else new
        if target.get(key) in (None, ""):
            target[key] = copy(value)
    for key, value in plan.nonzero.items():
        if not new.get(key):
            new[key] = copy(value)
    for key, struct, pointer in plan.structs:
        value = new.get(key)
        if isinstance(value, dict):
            new[key] = _filled(value, struct)
        elif value is None and not pointer and (absent := _of_nothing(struct)):
            new[key] = copy_object(absent)
    for key, struct in plan.lists:
        value = new.get(key)
        if isinstance(value, list) and value:
            new[key] = [_filled(item, struct) if isinstance(item, dict) else item for item in value]
    for key in plan.amounts:
        value = new.get(key)
        if isinstance(value, dict):
            new[key] = _rounded(value)
    return new


def _rounded(amounts: Object) -> Object:
    """Resource amounts are kept in thousandths; the usual ones are."""
    finer = [key for key, value in amounts.items() if isinstance(value, str) and _may_be_finer(value)]
    if not finer:
        return amounts
    rounded = dict(amounts)
    for key in finer:
        try:
            rounded[key] = rounded_up_to_milli(str(amounts[key]))
        except BadQuantity:
            continue
    return rounded


def _may_be_finer(value: str) -> bool:
    return value.endswith(("n", "u")) or "." in value or "e-" in value


@cache
def _of_nothing(name: str) -> Object:
    """What an absent struct becomes."""
    return _filled({}, name)


@cache
def _plan(name: str) -> _Plan | None:
    kind = Type("struct", pointer=False, name=name)
    installed = kind.struct.package.partition("/")[0] in INSTALLED
    defaults: list[tuple[str, Json]] = list(VALUES.get(name, {}).items()) if installed else []
    structs: list[tuple[str, str, bool]] = []
    lists: list[tuple[str, str]] = []
    amounts: list[str] = []
    for key, field in kind.struct.fields.items():
        inner = field.type
        if installed and _has_value(field):
            defaults.append((key, field.default))
        if inner.kind == "struct" and _matters(inner.name):
            structs.append((key, inner.name, inner.pointer))
        elif inner.kind == "list" and inner.of.kind == "struct" and _matters(inner.of.name):
            lists.append((key, inner.of.name))
        elif installed and inner.kind == "map" and inner.of.kind == "quantity":
            amounts.append(key)
    fill = FILLS.get(name) if installed else None
    nonzero = NONZERO_VALUES.get(name, {}) if installed else {}
    if fill is None and not (defaults or nonzero or structs or lists or amounts):
        return None
    values = tuple((key.rpartition(".")[0], key.rpartition(".")[2], value) for key, value in defaults)
    return _Plan(fill, values, nonzero, tuple(structs), tuple(lists), tuple(amounts))


def _has_value(field: Field) -> bool:
    """A default that shows: the zero value of a plain field is not written anyway."""
    return field.default is not None and (field.type.pointer or bool(field.default))


def _matters(name: str) -> bool:
    """Metadata and custom resource definitions have none, and are met everywhere or contain themselves."""
    return name.partition("/")[0] in INSTALLED and _plan(name) is not None
