"""Field ownership: `metadata.managedFields` after an update or a server-side apply.

Mirrors apimachinery `managedfields` and structured-merge-diff `merge.Updater`, Kubernetes 1.36. An update
owns the fields that it changes. An apply owns the fields in its configuration, removes fields that it no
longer contains and nobody else owns, and conflicts if another manager owns a field with another value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.structured import (
    Atom,
    FieldSet,
    Manager,
    applied,
    compare,
    decode_managers,
    field_set,
)
from whysync.kubernetes.merge.structured.apply import Claim
from whysync.kubernetes.merge.structured.fieldset import step_text, to_fields_v1
from whysync.kubernetes.merge.structured.walk import TypeErrors

_SCALE_VERSION: Final = "autoscaling/v1"
_STRIPPED_FIELDS: Final = FieldSet.of(
    [
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
                "managedFields", "resourceVersion",
            )
        ),
    ]
)  # fmt: skip
_MAX_UPDATE_ENTRIES: Final = 10
_ANCIENT_MANAGER: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"


class Managed(msgspec.Struct, frozen=True):
    claims: dict[Manager, Claim]
    times: dict[Manager, str]


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """The manager, subresource and time of a write; `excluded` are fields that it cannot change."""

    manager: str
    subresource: str
    api_version: str
    now: str
    excluded: FieldSet


_MAX_CACHED: Final = 16384
_FIELD_SETS: Final[dict[int, tuple[Json, FieldSet]]] = {}
_FIELDS_V1: Final[dict[int, tuple[FieldSet, Object]]] = {}
"""Cache of `fieldsV1` and its FieldSet by identity: most writes leave most entries unchanged."""


def _cache(tree: Object, owned: FieldSet) -> None:
    if len(_FIELD_SETS) > _MAX_CACHED:
        forget_cached()
    _FIELD_SETS[id(tree)] = (tree, owned)
    _FIELDS_V1[id(owned)] = (owned, tree)


def forget_cached() -> None:
    """Free what is kept of the objects of simulations that have ended."""
    _FIELD_SETS.clear()
    _FIELDS_V1.clear()


def cached_count() -> int:
    return len(_FIELD_SETS)


def decode_managed(obj: Object) -> Managed:
    """The managedFields of an object. Raises `DiffError` for invalid entries."""
    entries = [fields(raw) for raw in items(fields(obj.get("metadata")).get("managedFields"))]
    claims: dict[Manager, Claim] = {}
    for entry in entries:
        tree = entry.get("fieldsV1")
        cached = _FIELD_SETS.get(id(tree))
        if cached is None or cached[0] is not tree:
            claims = decode_managers(obj)
            if len(claims) == len(entries):
                for each_entry in entries:
                    _cache(fields(each_entry.get("fieldsV1")), claims[_manager_of(each_entry)].owned)
            break
        claims[_manager_of(entry)] = Claim(cached[1], text(entry.get("apiVersion")))
    times = {_manager_of(entry): stamp for entry in entries if (stamp := text(entry.get("time")))}
    return Managed(claims, times)


def managed_or_empty(obj: Object) -> Managed:
    """The managed fields of a stored object; empty if invalid. Mirrors `emptyManagedFieldsOnErr`."""
    try:
        return decode_managed(obj)
    except DiffError:
        return Managed({}, {})


def _manager_of(entry: Object) -> Manager:
    operation = text(entry.get("operation"))
    version = "" if operation == "Apply" else text(entry.get("apiVersion"))
    return Manager(text(entry.get("manager")), operation, text(entry.get("subresource")), version)


def encode_managed(managed: Managed) -> list[Json]:
    """managedFields entries in upstream's order: by operation, time, manager."""

    def rank(manager: Manager) -> tuple[str, str, str, str, str]:
        claim = managed.claims[manager]
        return (
            manager.operation,
            managed.times.get(manager, ""),
            manager.name,
            claim.api_version,
            manager.subresource,
        )

    return [_entry(manager, managed) for manager in sorted(managed.claims, key=rank)]


def with_managed(obj: Object, managed: Managed) -> Object:
    meta = {key: value for key, value in fields(obj.get("metadata")).items() if key != "managedFields"}
    entries = encode_managed(managed)
    if entries:
        meta["managedFields"] = entries
    return {**obj, "metadata": meta}


def _entry(manager: Manager, managed: Managed) -> Json:
    claim = managed.claims[manager]
    entry: Object = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": claim.api_version,
    }
    stamp = managed.times.get(manager)
    if stamp:
        entry["time"] = stamp
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = _fields_v1(claim.owned)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _fields_v1(owned: FieldSet) -> Object:
    cached = _FIELDS_V1.get(id(owned))
    if cached is not None and cached[0] is owned:
        return cached[1]
    tree = to_fields_v1(owned)
    _cache(tree, owned)
    return tree


def after_update(live: Object, new: Object, managed: Managed, writing: Writing, atom: Atom) -> Managed:
    """Field ownership after an update from `live` to `new`.

    It stays as it is if the two cannot be compared, for example because a list item lacks its key.
    """
    writer = Manager(writing.manager, "Update", writing.subresource, writing.api_version)
    try:
        changes = compare(live, new, atom)
    except TypeErrors:
        return managed
    removed = changes.removed.difference(writing.excluded, recursive=True)
    changed = changes.modified.union(changes.added).difference(writing.excluded, recursive=True)
    claims = _remaining_claims(managed.claims, changed, removed, except_for=None)
    own_fields = changed.difference(_STRIPPED_FIELDS)
    times = dict(managed.times)
    if own_fields:
        previous = claims.get(writer)
        owned = own_fields if previous is None else previous.owned.union(own_fields)
        claims[writer] = Claim(owned, writing.api_version)
        if writer not in managed.claims or managed.claims[writer].owned != owned:
            times[writer] = writing.now
        if writing.subresource == "scale":
            times.pop(writer, None)  # entries of the scale subresource have no time
    elif writer in claims and claims[writer].owned != managed.claims[writer].owned:
        times[writer] = writing.now
    return _cap_update_managers(Managed(claims, _times_of(times, claims)))


def after_apply(
    live: Object,
    config: Object,
    managed: Managed,
    writing: Writing,
    atom: Atom,
    *,
    force: bool,
    ignored_conflicts: FieldSet,
) -> tuple[Object, Managed]:
    """The object and its field ownership after a server-side apply; raises `Refused` on conflicts.

    Conflicts about the fields in `ignored_conflicts` are ignored.
    """
    writer = Manager(writing.manager, "Apply", writing.subresource, "")
    new = applied(live, config, _claims_for_subresource(writer, managed.claims), writing.manager, atom)
    applied_fields = (
        field_set(config, atom).difference(writing.excluded, recursive=True).difference(_STRIPPED_FIELDS)
    )
    changes = compare(live, live if new is None else new, atom)
    removed = changes.removed.difference(writing.excluded, recursive=True)
    changed = changes.modified.union(changes.added).difference(writing.excluded, recursive=True)
    if not force:
        # The claims are translated to those of a Scale, which has a version of its own.
        shown_version = _SCALE_VERSION if writing.subresource == "scale" else ""
        _check_conflicts(managed.claims, changed.difference(ignored_conflicts), writer, shown_version)
    claims = _remaining_claims(managed.claims, changed, removed, except_for=writer)
    times = dict(managed.times)
    claims.pop(writer, None)
    if applied_fields:
        claims[writer] = Claim(applied_fields, writing.api_version)
    if new is not None:
        times[writer] = writing.now
    if writing.subresource == "scale":
        times.pop(writer, None)  # entries of the scale subresource have no time
    return (live if new is None else new), Managed(claims, _times_of(times, claims))


def _claims_for_subresource(writer: Manager, claims: dict[Manager, Claim]) -> dict[Manager, Claim]:
    """The claims as `applied` expects them: the writer's claim of its subresource as its own claim."""
    plain = Manager(writer.name, "Apply", "", "")
    if writer == plain:
        return claims
    renamed = {manager: claim for manager, claim in claims.items() if manager not in {writer, plain}}
    if plain in claims:
        renamed[plain._replace(name=f"{writer.name} (main resource)")] = claims[plain]
    if writer in claims:
        renamed[plain] = claims[writer]
    return renamed


def _remaining_claims(
    claims: dict[Manager, Claim], changed: FieldSet, removed: FieldSet, *, except_for: Manager | None
) -> dict[Manager, Claim]:
    """The claims without changed and removed fields; `except_for` keeps all of its fields."""
    remaining: dict[Manager, Claim] = {}
    for manager, claim in claims.items():
        if manager == except_for:
            remaining[manager] = claim
            continue
        owned = claim.owned.difference(changed).difference(removed)
        if owned:
            remaining[manager] = Claim(owned, claim.api_version)
    return remaining


def _times_of(times: dict[Manager, str], claims: dict[Manager, Claim]) -> dict[Manager, str]:
    return {manager: stamp for manager, stamp in times.items() if manager in claims}


def _cap_update_managers(managed: Managed) -> Managed:
    """Merges the oldest update entries into one if there are more than ten. Mirrors `capManagersManager`."""
    updaters = [manager for manager in managed.claims if manager.operation == "Update"]
    if len(updaters) <= _MAX_UPDATE_ENTRIES:
        return managed
    ordered = sorted(updaters, key=lambda manager: (managed.times.get(manager, ""), manager.name))
    claims, times = dict(managed.claims), dict(managed.times)
    count = len(updaters)
    for manager in ordered:
        if count <= _MAX_UPDATE_ENTRIES:
            break
        claim = claims[manager]
        bucket = Manager(_ANCIENT_MANAGER, "Update", "", claim.api_version)
        if manager == bucket:
            continue
        del claims[manager]
        count -= 1
        if bucket in claims:
            claims[bucket] = Claim(claims[bucket].owned.union(claim.owned), claim.api_version)
        else:
            claims[bucket] = claim
            count += 1
        times[bucket] = managed.times.get(manager, "")
    return Managed(claims, _times_of(times, claims))


def _check_conflicts(
    claims: dict[Manager, Claim], changed: FieldSet, writer: Manager, shown_version: str
) -> None:
    conflicts: list[tuple[str, str]] = []
    for manager, claim in claims.items():
        if manager != writer:
            shared = claim.owned.intersection(changed)
            manager_text = _manager_text(manager, shown_version or claim.api_version)
            conflicts.extend((manager_text, path) for path in conflict_paths(shared))
    if conflicts:
        raise _conflict(sorted(conflicts, key=lambda pair: pair[0]))


def conflict_paths(owned: FieldSet, prefix: str = "") -> Iterable[str]:
    """The paths of a FieldSet: the members of a level first, then its children."""
    for element in sorted(owned.members):
        yield prefix + step_text(element)
    for element in sorted(owned.children):
        yield from conflict_paths(owned.children[element], prefix + step_text(element))


def _manager_text(manager: Manager, api_version: str) -> str:
    name = f'"{manager.name}"'
    if manager.subresource:
        name += f' with subresource "{manager.subresource}"'
    return f"{name} using {api_version}" if manager.operation == "Update" else name


def _conflict(conflicts: list[tuple[str, str]]) -> Refused:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    else:
        lines: list[str] = []
        for manager in dict.fromkeys(manager for manager, _ in conflicts):
            lines.append(f"conflicts with {manager}:")
            lines.extend(f"- {path}" for name, path in conflicts if name == manager)
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    causes: list[Json] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, path in conflicts
    ]
    return Refused(409, "Conflict", message, {"causes": causes})
