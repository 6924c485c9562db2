"""Which commit brought the present version of a workload, and how the version before it was.

A Deployment that could not keep its pods says since when it is not available. Where that began with the
present version, the one before it was well to the end, though none of its pods is left to show it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import fields, items, text
from whysync.diagnosis.commands import app_argument
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.instants import instant

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_REVISION: Final = "deployment.kubernetes.io/revision"
_ROUNDED: Final = timedelta(seconds=2)
"""Instants are written in whole seconds."""
_AFTERWARDS: Final = timedelta(minutes=1)


def versions(case: Case, deployment: Manifest) -> list[Manifest]:
    """Its ReplicaSets, the newest first."""
    sets = (one for one in case.owned_by(deployment.ref) if one.ref.kind == "ReplicaSet")
    return sorted(sets, key=lambda one: -number_of(one))


def number_of(replica_set: Manifest) -> int:
    told = text(replica_set.annotations.get(_REVISION))
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 10 else 0


def well_until_then(deployment: Manifest, new: Manifest) -> Evidence | None:
    """The condition that shows it: not available since the new version came, and so available before."""
    came = instant(new.meta.get("creationTimestamp"))
    for index, raw in enumerate(items(deployment.status.get("conditions"))):
        one = fields(raw)
        since = instant(one.get("lastTransitionTime"))
        if one.get("type") == "Available" and one.get("status") == "False" and since and came:
            began = instant(deployment.meta.get("creationTimestamp"))
            if since >= came - _ROUNDED and (began is None or came > began + _ROUNDED):
                says = "it was available until the present version came"
                return cite(deployment, f"/status/conditions/{index}", says=says)
    return None


def brought_by(case: Case, new: Manifest) -> Evidence | None:
    """The commit in whose sync the version was made, and what takes all of it back."""
    came = instant(new.meta.get("creationTimestamp"))
    history = case.app.status.history
    for index in range(len(history) - 1, 0, -1):
        entry, before = history[index], history[index - 1]
        if not entry.revision or entry.revision == before.revision:
            continue
        if came is not None and _is_within(came, entry.deploy_started_at, entry.deployed_at):
            short = entry.revision[:7]
            says = f"its commit: git revert {short} takes back all of it"
            if case.is_automated:
                says += "; argocd app rollback is refused while auto-sync is on"
            else:
                says += f"; argocd app rollback {app_argument(case)} {before.id} does so until the next sync"
            return cite(case.application, f"/status/history/{index}/revision", says=says)
    return None


def _is_within(at: datetime, began: datetime | None, ended: datetime | None) -> bool:
    if ended is None:
        return False
    return (began or ended - _AFTERWARDS) - _ROUNDED <= at <= ended + _AFTERWARDS
