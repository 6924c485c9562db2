"""Which managers own a field of a live object, after `metadata.managedFields`.

`fieldsV1` is a tree that mirrors the object: `f:name` is a field, `k:{"name":"x"}` the item of a list
with these keys, `v:"x"` a member of a set, `i:3` a position; `.` marks the node itself, and a node
without children is owned whole. A field of an atomic list or map is owned through that ancestor.

What nobody owns was filled in by the API server (a default of the type, or of a CRD's schema) on a
server-side apply. What a mutating webhook adds at admission is owned by whoever made the request: the
record cannot tell the two apart.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import Enum, StrEnum, auto

import msgspec

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.field_writers.known_managers import WriterKind, kind_of

# A field manager as a writer, and its text for messages.


class Writer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A field manager. `time` is when it last changed anything it owns, not when it wrote one field."""

    manager: str
    operation: str = ""
    subresource: str = ""
    time: datetime | None = None
    kind: WriterKind = WriterKind.UNKNOWN


def writer_from(entry: Object) -> Writer:
    """The writer of one managedFields entry; missing or invalid values are empty."""
    manager, operation = text(entry.get("manager")), text(entry.get("operation"))
    subresource = text(entry.get("subresource"))
    return Writer(
        manager=manager,
        operation=operation,
        subresource=subresource,
        time=_time(entry.get("time")),
        kind=kind_of(manager, operation=operation, subresource=subresource),
    )


def _time(value: Json | Missing) -> datetime | None:
    try:
        return datetime.fromisoformat(text(value))
    except ValueError:
        return None


_PHRASES = {
    WriterKind.ARGOCD: "Argo CD",
    WriterKind.KUBECTL_EDIT: "kubectl edit",
    WriterKind.KUBECTL_APPLY: "kubectl apply",
    WriterKind.KUBECTL_SCALE: "kubectl scale",
    WriterKind.KUBECTL_PATCH: "kubectl patch",
    WriterKind.KUBECTL_OTHER: "kubectl",
    WriterKind.CONSOLE: "a console",
    WriterKind.CONTROLLER: "a controller",
    WriterKind.AUTOSCALER: "an autoscaler",
    WriterKind.WEBHOOK: "an admission webhook's own software",
    WriterKind.API_SERVER: "the API server",
    WriterKind.HELM: "Helm",
    WriterKind.TERRAFORM: "infrastructure as code",
    WriterKind.OTHER_GITOPS: "another GitOps tool",
    WriterKind.OPERATOR: "an operator",
    WriterKind.UNKNOWN: "an unknown writer",
}


def phrase(writer: Writer) -> str:
    """`kubectl edit`, `an autoscaler (kube-controller-manager, subresource scale)`: words, then the name."""
    label = "Argo CD's UI" if writer.manager == "argocd-server" else _PHRASES[writer.kind]
    if writer.manager == "before-first-apply":
        return "whoever wrote it before the API server began to keep a record (before-first-apply)"
    if writer.kind is WriterKind.KUBECTL_OTHER and writer.manager.startswith("kubectl-"):
        label = writer.manager.replace("-", " ", 1)
    detail = [] if label.replace(" ", "-") == writer.manager else [writer.manager or "no name"]
    if writer.subresource:
        detail.append(f"subresource {writer.subresource}")
    return f"{label} ({', '.join(detail)})" if detail else label


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class OwnershipState(StrEnum):
    """What managedFields report about a field in addition to its owners."""

    OWNED = "owned"
    NOBODY = "nobody"
    """It is there and no manager claims it: a default, or an unrecorded write."""
    ABSENT = "absent"
    """The object has no such field: whoever removed it, or never wrote it, leaves no mark."""
    NO_RECORD = "no-record"
    """The object came without managedFields."""


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    standing: OwnershipState
    writers: tuple[Writer, ...] = ()
    """Owners of the field, of an atomic ancestor, or of something below it; the most recent first."""
    around: tuple[Writer, ...] = ()
    """If the field itself has no owner: the owners of its nearest owned ancestor."""


class _Claim(Enum):
    HOLDS = auto()
    ABOVE = auto()  # the claim ends above the field, at a node it owns


class ManagedFieldsIndex:
    """The record of one live object, decoded once for any number of questions."""

    __slots__ = ("_claims", "_live")

    def __init__(self, live: Object) -> None:
        self._live = live
        entries = [fields(raw) for raw in items(fields(live.get("metadata")).get("managedFields"))]
        claims = [(fields(entry.get("fieldsV1")), writer_from(entry)) for entry in entries]
        self._claims = sorted(claims, key=lambda claim: _sort_time(claim[1].time), reverse=True)

    @property
    def managers(self) -> tuple[Writer, ...]:
        """Every manager of the object, the most recent first."""
        return tuple(writer for _, writer in self._claims)

    def ownership(self, pointer: str) -> Ownership:
        if not self._claims:
            return Ownership(standing=OwnershipState.NO_RECORD)
        tokens = pointers.split(pointer)
        holders: list[Writer] = []
        nearest: dict[int, list[Writer]] = {}
        for claimed, writer in self._claims:
            claim, depth = _follow_path(claimed, self._live, tokens)
            if claim is _Claim.HOLDS:
                holders.append(writer)
            elif depth:
                nearest.setdefault(depth, []).append(writer)
        if holders:
            return Ownership(standing=OwnershipState.OWNED, writers=tuple(holders))
        deepest = max(nearest, default=0)
        is_present = not isinstance(_value_at(self._live, tokens), Missing)
        return Ownership(
            standing=OwnershipState.NOBODY if is_present else OwnershipState.ABSENT,
            around=tuple(nearest.get(deepest, ())),
        )

    def writers(self, pointer: str) -> tuple[Writer, ...]:
        return self.ownership(pointer).writers


def writers_of(live: Object, pointer: str) -> tuple[Writer, ...]:
    """Who owns the field at a JSON pointer into the live object, the most recent writer first."""
    return ManagedFieldsIndex(live).writers(pointer)


def writer_of(live: Object, pointer: str) -> Writer | None:
    """The most recent owner of the field, if any."""
    return next(iter(writers_of(live, pointer)), None)


def _follow_path(claim: Object, value: Json | Missing, tokens: tuple[str, ...]) -> tuple[_Claim, int]:
    """Walk one claim along a path; the number is the depth of the last node that it owns."""
    owned = 0
    for depth, token in enumerate(tokens):
        child, value = _step(claim, value, token)
        if child is None:
            return _Claim.ABOVE, owned
        claim = child
        if not claim:  # a leaf: owned whole, and all that is below it
            return _Claim.HOLDS, depth + 1
        if "." in claim:
            owned = depth + 1
    return (_Claim.HOLDS if claim else _Claim.ABOVE), owned


def _step(claim: Object, value: Json | Missing, token: str) -> tuple[Object | None, Json | Missing]:
    if not isinstance(value, list):
        child = claim.get(f"f:{token}")
        value = value.get(token, MISSING) if isinstance(value, dict) else MISSING
        return (None if child is None else fields(child)), value
    index = pointers.index_of(token)
    if index is None or index >= len(value):
        return None, MISSING
    item = value[index]
    for name, child in claim.items():
        if name == f"i:{token}" or _names_item(name, item):
            return fields(child), item
    return None, item


def _value_at(value: Json | Missing, tokens: tuple[str, ...]) -> Json | Missing:
    for token in tokens:
        _, value = _step({}, value, token)
    return value


def _names_item(name: str, item: Json) -> bool:
    if name.startswith("k:"):
        if not isinstance(item, dict):
            return False
        keys = _parsed(name[2:])
        if not isinstance(keys, dict) or keys.keys().isdisjoint(item):
            return False
        # an optional key that the item lacks has its default in the record, so absence is no contradiction
        return all(_agrees(item, *pair) for pair in keys.items())
    return name.startswith("v:") and _same(_parsed(name[2:]), item)


def _agrees(item: Object, key: str, expected: Json) -> bool:
    return key not in item or _same(item[key], expected)


def _same(left: Json | Missing, right: Json) -> bool:
    """Equality of JSON scalars: `1` and `true` differ, unlike in Python."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _parsed(raw: str) -> Json | Missing:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return MISSING


def _sort_time(time: datetime | None) -> datetime:
    if time is None:
        return _LONG_AGO
    return time if time.tzinfo else time.replace(tzinfo=UTC)
