"""Who owns which field: what a write makes of `metadata.managedFields`.

Mirrors apimachinery `managedfields` and structured-merge-diff `merge.Updater`, Kubernetes 1.36. An update
takes over what it changes; an apply claims what it says, takes away what it said before and nobody else
claims, and fails where another manager holds a field to another value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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

_SYSTEM: Final = FieldSet.of(
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
_MOST_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Managed:
    claims: dict[Manager, Claim]
    times: dict[Manager, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Who writes, through which door, when; `excluded` are fields that this door does not let through."""

    manager: str
    subresource: str
    api_version: str
    now: str
    excluded: FieldSet


_MOST_REMEMBERED: Final = 16384
_SETS: Final[dict[int, tuple[Json, FieldSet]]] = {}
_TREES: Final[dict[int, tuple[FieldSet, Object]]] = {}
"""`fieldsV1` and the set behind it, by identity: most writes leave most claims alone."""


def _remember(tree: Object, owned: FieldSet) -> None:
    if len(_SETS) > _MOST_REMEMBERED:
        _SETS.clear()
        _TREES.clear()
    _SETS[id(tree)] = (tree, owned)
    _TREES[id(owned)] = (owned, tree)


def read_managed(obj: Object) -> Managed:
    """Raises `DiffError` for entries that mean nothing."""
    entries = [fields(raw) for raw in items(fields(obj.get("metadata")).get("managedFields"))]
    claims: dict[Manager, Claim] = {}
    for entry in entries:
        tree = entry.get("fieldsV1")
        known = _SETS.get(id(tree))
        if known is None or known[0] is not tree:
            claims = decode_managers(obj)
            if len(claims) == len(entries):
                for other in entries:
                    _remember(fields(other.get("fieldsV1")), claims[_who(other)].owned)
            break
        claims[_who(entry)] = Claim(known[1], text(entry.get("apiVersion")))
    times = {_who(entry): stamp for entry in entries if (stamp := text(entry.get("time")))}
    return Managed(claims, times)


def kept_managed(obj: Object) -> Managed:
    """The managed fields of a stored object; empty if invalid. Mirrors `emptyManagedFieldsOnErr`."""
    try:
        return read_managed(obj)
    except DiffError:
        return Managed({}, {})


def _who(entry: Object) -> Manager:
    operation = text(entry.get("operation"))
    version = "" if operation == "Apply" else text(entry.get("apiVersion"))
    return Manager(text(entry.get("manager")), operation, text(entry.get("subresource")), version)


def written_managed(managed: Managed) -> list[Json]:
    """Applies before updates, then by time in whole seconds, then by name."""

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
    entries = written_managed(managed)
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
    entry["fieldsV1"] = _tree(claim.owned)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _tree(owned: FieldSet) -> Object:
    known = _TREES.get(id(owned))
    if known is not None and known[0] is owned:
        return known[1]
    tree = to_fields_v1(owned)
    _remember(tree, owned)
    return tree


def after_update(live: Object, new: Object, managed: Managed, writing: Writing, atom: Atom) -> Managed:
    """Claims after `live` became `new` by an ordinary write.

    Where the two cannot be compared, as with a list of named entries that has one without a name, no claim
    changes.
    """
    me = Manager(writing.manager, "Update", writing.subresource, writing.api_version)
    try:
        changes = compare(live, new, atom)
    except TypeErrors:
        return managed
    removed = changes.removed.difference(writing.excluded, recursive=True)
    changed = changes.modified.union(changes.added).difference(writing.excluded, recursive=True)
    claims = _without(managed.claims, changed, removed, except_for=None)
    mine = changed.difference(_SYSTEM)
    times = dict(managed.times)
    if mine:
        before = claims.get(me)
        owned = mine if before is None else before.owned.union(mine)
        claims[me] = Claim(owned, writing.api_version)
        if me not in managed.claims or managed.claims[me].owned != owned:
            times[me] = writing.now
        if writing.subresource == "scale":
            times.pop(me, None)  # a claim through this door carries no time
    elif me in claims and claims[me].owned != managed.claims[me].owned:
        times[me] = writing.now
    return _capped(Managed(claims, _of_those(times, claims)))


def after_apply(
    live: Object,
    config: Object,
    managed: Managed,
    writing: Writing,
    atom: Atom,
    *,
    force: bool,
    pardoned: FieldSet,
) -> tuple[Object, Managed]:
    """The object and the claims after a server-side apply; raises `Refused` on conflicts.

    Conflicts about `pardoned` fields do not count.
    """
    me = Manager(writing.manager, "Apply", writing.subresource, "")
    new = applied(live, config, _as_seen_by(me, managed.claims), writing.manager, atom)
    applied_fields = field_set(config, atom).difference(writing.excluded, recursive=True).difference(_SYSTEM)
    changes = compare(live, live if new is None else new, atom)
    removed = changes.removed.difference(writing.excluded, recursive=True)
    changed = changes.modified.union(changes.added).difference(writing.excluded, recursive=True)
    if not force:
        _refuse_conflicts(managed.claims, changed.difference(pardoned), me)
    claims = _without(managed.claims, changed, removed, except_for=me)
    times = dict(managed.times)
    claims.pop(me, None)
    if applied_fields:
        claims[me] = Claim(applied_fields, writing.api_version)
    if new is not None:
        times[me] = writing.now
    return (live if new is None else new), Managed(claims, _of_those(times, claims))


def _as_seen_by(me: Manager, claims: dict[Manager, Claim]) -> dict[Manager, Claim]:
    """`applied` knows one door only: there, the claim through this door is the manager's own."""
    plain = Manager(me.name, "Apply", "", "")
    if me == plain:
        return claims
    seen = {who: claim for who, claim in claims.items() if who not in {me, plain}}
    if plain in claims:
        seen[plain._replace(name=f"{me.name} at the main door")] = claims[plain]
    if me in claims:
        seen[plain] = claims[me]
    return seen


def _without(
    claims: dict[Manager, Claim], changed: FieldSet, removed: FieldSet, *, except_for: Manager | None
) -> dict[Manager, Claim]:
    """What the others keep."""
    kept: dict[Manager, Claim] = {}
    for manager, claim in claims.items():
        if manager == except_for:
            kept[manager] = claim
            continue
        owned = claim.owned.difference(changed).difference(removed)
        if owned:
            kept[manager] = Claim(owned, claim.api_version)
    return kept


def _of_those(times: dict[Manager, str], claims: dict[Manager, Claim]) -> dict[Manager, str]:
    return {manager: stamp for manager, stamp in times.items() if manager in claims}


def _capped(managed: Managed) -> Managed:
    """More than ten updaters: the oldest are merged into one."""
    updaters = [manager for manager in managed.claims if manager.operation == "Update"]
    if len(updaters) <= _MOST_UPDATERS:
        return managed
    ordered = sorted(updaters, key=lambda manager: (managed.times.get(manager, ""), manager.name))
    claims, times = dict(managed.claims), dict(managed.times)
    count = len(updaters)
    for manager in ordered:
        if count <= _MOST_UPDATERS:
            break
        claim = claims[manager]
        bucket = Manager(_ANCIENT, "Update", "", claim.api_version)
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
    return Managed(claims, _of_those(times, claims))


def _refuse_conflicts(claims: dict[Manager, Claim], changed: FieldSet, me: Manager) -> None:
    conflicts: list[tuple[str, str]] = []
    for manager, claim in claims.items():
        if manager != me:
            shared = claim.owned.intersection(changed)
            conflicts.extend((_called(manager, claim), path) for path in conflict_paths(shared))
    if conflicts:
        raise _conflict(sorted(conflicts, key=lambda pair: pair[0]))


def conflict_paths(owned: FieldSet, prefix: str = "") -> Iterable[str]:
    """Members of a level first, then what is below it, each in order."""
    for step in sorted(owned.members):
        yield prefix + step_text(step)
    for step in sorted(owned.children):
        yield from conflict_paths(owned.children[step], prefix + step_text(step))


def _called(manager: Manager, claim: Claim) -> str:
    name = f'"{manager.name}"'
    if manager.subresource:
        name += f' with subresource "{manager.subresource}"'
    return f"{name} using {claim.api_version}" if manager.operation == "Update" else name


def _conflict(conflicts: list[tuple[str, str]]) -> Refused:
    if len(conflicts) == 1:
        who, path = conflicts[0]
        message = f"Apply failed with 1 conflict: conflict with {who}: {path}"
    else:
        lines: list[str] = []
        for who in dict.fromkeys(who for who, _ in conflicts):
            lines.append(f"conflicts with {who}:")
            lines.extend(f"- {path}" for name, path in conflicts if name == who)
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    causes: list[Json] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, path in conflicts
    ]
    return Refused(409, "Conflict", message, {"causes": causes})
