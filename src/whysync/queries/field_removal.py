"""What happens to the live value when a field that another writer sets is removed from Git.

Client-side apply deletes a field that the last-applied configuration has and the new manifest has not.
Server-side apply deletes it only if Argo CD is its only owner. With `RespectIgnoreDifferences=true` Argo CD
copies ignored live fields into what it applies (`normalizeTargetResources`, Argo CD 3.6), so an ignore rule
that is in place before the removal prevents it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import resolve, split
from whysync.kubernetes.field_writers import WriterKind
from whysync.kubernetes.field_writers.ownership import writers_of
from whysync.kubernetes.merge.last_applied import last_applied
from whysync.queries.sync_options import has_option

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.kubernetes.api.manifest import Manifest
    from whysync.kubernetes.api.ref import Ref

_SERVER_SIDE: Final = "ServerSideApply=true"
_AVOID: Final = "; to avoid that, apply the ignore rule first"


class Removal(Enum):
    """Does the sync that no longer declares a field delete its live value?"""

    KEPT = auto()
    DELETED = auto()
    UNKNOWN = auto()


def removal_of(case: Case, ref: Ref, pointer: str) -> Removal:
    live, desired = case.live_of(ref.key), case.desired_of(ref.key)
    if live is None:
        return Removal.UNKNOWN
    if case.has_sync_option(_SERVER_SIDE) or (desired is not None and has_option(desired, _SERVER_SIDE)):
        return _by_owners(live, pointer)
    applied = last_applied(live.body)
    if applied is None:
        return Removal.UNKNOWN
    return Removal.KEPT if isinstance(resolve(applied, pointer), Missing) else Removal.DELETED


def _by_owners(live: Manifest, pointer: str) -> Removal:
    owners = writers_of(live.body, pointer)
    if not owners:
        return Removal.UNKNOWN
    is_only_owner = all(owner.kind is WriterKind.ARGOCD for owner in owners)
    return Removal.DELETED if is_only_owner else Removal.KEPT


def removal_risk(case: Case, ref: Ref, pointer: str, *, writer: str, ignorable: bool = True) -> str:
    """The risk of removing the field from Git; empty if the live value stays.

    `ignorable`: the finding also offers the ignore rule.
    """
    removal = removal_of(case, ref, pointer)
    if removal is Removal.KEPT:
        return ""
    avoid = _AVOID if ignorable else ""
    can = "" if removal is Removal.DELETED else "can "
    if split(pointer)[-1] != "replicas":
        verb = "delete" if can else "deletes"
        return f"this sync {can}{verb} the live value until {writer} writes it again{avoid}"
    if is_builtin(ref):
        verb = "reset" if can else "resets"
        return f"this sync {can}{verb} it to 1 replica until {writer} acts{avoid}"
    verb = "delete" if can else "deletes"
    stops = f"until {writer} acts, which can stop all of them"
    return f"this sync {can}{verb} the live number of replicas {stops}{avoid}"
