"""Where Git and the cluster differ, field by field, each with its writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whysync.contracts.manifest import Manifest
from whysync.contracts.pointer import split, within
from whysync.contracts.ref import Key, Ref
from whysync.contracts.tree import Json, Missing
from whysync.diagnosis.difference import Difference, differences
from whysync.diagnosis.evidence import Evidence, cite
from whysync.semantics.writers import Writer, writer_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Written by the API server; a live object always has them, and nobody wants them in Git.
_SERVER_FIELDS = (
    "/metadata/creationTimestamp",
    "/metadata/generation",
    "/metadata/managedFields",
    "/metadata/namespace",
    "/metadata/ownerReferences",
    "/metadata/resourceVersion",
    "/metadata/selfLink",
    "/metadata/uid",
    "/status",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One field that differs. `wanted` is missing where only the cluster has it, `found` where only Git."""

    ref: Ref
    pointer: str
    wanted: Json | Missing
    found: Json | Missing
    desired: Manifest
    live: Manifest
    symptom: str

    @property
    def only_live(self) -> bool:
        return isinstance(self.wanted, Missing)

    @property
    def only_git(self) -> bool:
        return isinstance(self.found, Missing)

    @property
    def writer(self) -> Writer | None:
        """Who wrote the live value, as managedFields tell; `None` where they do not."""
        return writer_of(self.live.body, self.pointer)

    @property
    def last_key(self) -> str:
        parts = split(self.pointer)
        return parts[-1] if parts else ""

    def cited(self) -> tuple[Evidence, ...]:
        """Both sides of the difference, as evidence."""
        wanted = "only the cluster has it" if self.only_live else "Git says this"
        found = "the cluster does not have it" if self.only_git else "the cluster says this"
        return (
            cite(self.desired, self.pointer, says=wanted),
            cite(self.live, self.pointer, says=found),
        )


def drifts_of(case: Case) -> tuple[Drift, ...]:
    found: list[Drift] = []
    for key, desired, live in _pairs(case):
        found += _shown(key, desired, live)
    return tuple(found)


def _pairs(case: Case) -> Iterator[tuple[Key, Manifest, Manifest]]:
    """The resources that Argo CD calls OutOfSync, of which both sides are known."""
    for row in case.app.status.resources:
        if row.status != "OutOfSync" or row.requires_pruning:
            continue
        desired, live = case.desired_of(row.key), case.live_of(row.key)
        if desired is not None and live is not None:
            yield row.key, desired, live


def _shown(key: Key, desired: Manifest, live: Manifest) -> list[Drift]:
    """What Git declares counts first; fields that only the cluster has count when nothing else differs."""
    every = [d for d in differences(desired.body, live.body) if not _is_servers(d)]
    declared = [d for d in every if not isinstance(d.wanted, Missing)]
    in_lists = [d for d in every if isinstance(d.wanted, Missing) and _in_list(d.pointer)]
    return [
        Drift(
            ref=live.ref,
            pointer=difference.pointer,
            wanted=difference.wanted,
            found=difference.found,
            desired=desired,
            live=live,
            symptom=f"differs:{key}:{difference.pointer}",
        )
        for difference in sorted(declared + in_lists if declared else every)
    ]


def _is_servers(difference: Difference) -> bool:
    return isinstance(difference.wanted, Missing) and any(
        within(difference.pointer, server) for server in _SERVER_FIELDS
    )


def _in_list(pointer: str) -> bool:
    return any(part.isdecimal() for part in split(pointer))
