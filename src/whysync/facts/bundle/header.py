"""`bundle.yaml`: when and with which version a bundle was collected, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from whysync.errors import Unreadable
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Json, Object, fields, items, text

GROUP = "whysync.dev"
VERSION = "v1"

_GAP_KINDS = frozenset(GapKind)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    collected_at: datetime | None = None
    argocd_version: str = ""
    gaps: tuple[Gap, ...] = ()
    # the folders below live/ and the clusters that they belong to
    clusters: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def is_header(body: Json) -> bool:
    return (
        isinstance(body, dict)
        and body.get("kind") == "Bundle"
        and text(body.get("apiVersion")).split("/")[0] == GROUP
    )


def read_header(body: Object, name: str) -> Header:
    version = text(body.get("apiVersion")).partition("/")[2]
    if version != VERSION:
        raise Unreadable(
            what=f"{name} is a bundle of version {version or '?'}",
            why=f"this whysync reads version {VERSION}",
            next="use the whysync that wrote it, or a newer one",
        )
    return Header(
        collected_at=_time(text(body.get("collectedAt"))),
        argocd_version=text(body.get("argocdVersion")),
        gaps=tuple(_gap(gap) for gap in items(body.get("gaps"))),
        clusters=_clusters(body.get("clusters")),
    )


def merged(first: Header, other: Header) -> Header:
    """The header of two bundles: the later time and the first version."""
    times = [time for time in (first.collected_at, other.collected_at) if time is not None]
    return Header(
        collected_at=max(times, default=None),
        argocd_version=first.argocd_version or other.argocd_version,
        gaps=(*first.gaps, *(gap for gap in other.gaps if gap not in first.gaps)),
        clusters={**first.clusters, **other.clusters},
    )


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _gap(raw: Json) -> Gap:
    if isinstance(raw, str):
        return Gap(kind=GapKind.NOT_COLLECTED, what=raw, why="the collector could not get it")
    gap = fields(raw)
    kind = text(gap.get("kind"))
    return Gap(
        kind=GapKind(kind) if kind in _GAP_KINDS else GapKind.NOT_COLLECTED,
        what=text(gap.get("what")),
        why=text(gap.get("why")),
        how_to_get=text(gap.get("howToGet")),
    )


def _clusters(raw: Json) -> dict[str, str]:
    """A list of names, or a map from folders to names: an address cannot be a folder name."""
    if isinstance(raw, dict):
        return {folder: text(name) or folder for folder, name in raw.items()}
    names = (item if isinstance(item, str) else text(fields(item).get("name")) for item in items(raw))
    return {name: name for name in names if name}
