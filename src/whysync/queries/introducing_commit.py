"""Which commit introduced the current version of a workload, and whether the previous version was available.

The Available condition of a Deployment shows since when it is not available. If that began with the current
version, the previous one worked to the end, even if none of its Pods is left. If the current version was
available at first, the problem came later, and the previous version may have it too.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.evidence import Evidence, cite
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.sources import is_commit
from whysync.queries.timestamps import instant

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_REVISION: Final = "deployment.kubernetes.io/revision"
_HASH: Final = "pod-template-hash"
_ROUNDING: Final = timedelta(seconds=2)
"""Times in Kubernetes objects have whole seconds."""
_SYNC_MARGIN: Final = timedelta(minutes=1)
_COMPLETE: Final = "NewReplicaSetAvailable"
"""Reason of the Progressing condition after a complete rollout. It stays when Pods fail later."""
_GRACE: Final = 30
"""Kubernetes' default terminationGracePeriodSeconds."""


def versions(case: Case, deployment: Manifest) -> list[Manifest]:
    """The ReplicaSets of a Deployment, newest first."""
    sets = (
        replica_set for replica_set in case.owned_by(deployment.ref) if replica_set.ref.kind == "ReplicaSet"
    )
    return sorted(sets, key=lambda replica_set: -number_of(replica_set))


def plain_template(value: Json | Missing) -> Object:
    """The template without the pod-template-hash label, and without the `$patch` of a ControllerRevision."""
    template = {key: part for key, part in fields(value).items() if key != "$patch"}
    meta = fields(template.get("metadata"))
    labels = {key: part for key, part in fields(meta.get("labels")).items() if key != _HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def number_of(replica_set: Manifest) -> int:
    number = text(replica_set.annotations.get(_REVISION))
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0


def available_until(deployment: Manifest, new: Manifest) -> Evidence | None:
    """The condition which shows that the Deployment was available until the new version was rolled out."""
    index_of_type = {
        text(fields(condition).get("type")): position
        for position, condition in enumerate(_conditions(deployment))
    }
    if "Available" not in index_of_type or "Progressing" not in index_of_type:
        return None
    available, progress = (
        _conditions(deployment)[index_of_type[condition]] for condition in ("Available", "Progressing")
    )
    if available.get("status") != "False" or progress.get("reason") == _COMPLETE:
        return None
    created, unavailable_since = (
        instant(new.meta.get("creationTimestamp")),
        instant(available.get("lastTransitionTime")),
    )
    deployment_created = instant(deployment.meta.get("creationTimestamp"))
    if (
        created is None
        or unavailable_since is None
        or unavailable_since < created - _stopping(deployment, new) - _ROUNDING
    ):
        return None
    if deployment_created is not None and created <= deployment_created + _ROUNDING:
        return None
    says = "it was available until the current version was rolled out"
    return cite(deployment, f"/status/conditions/{index_of_type['Available']}", says=says)


def _conditions(deployment: Manifest) -> list[Object]:
    return [fields(condition) for condition in items(deployment.status.get("conditions"))]


def _stopping(deployment: Manifest, new: Manifest) -> timedelta:
    """With the strategy Recreate, the new ReplicaSet is created after the last old Pod has stopped."""
    if dig(deployment.spec, "strategy", "type") != "Recreate":
        return timedelta()
    seconds = integer(dig(new.spec, "template", "spec", "terminationGracePeriodSeconds"), _GRACE)
    return timedelta(seconds=min(max(seconds, 0), 3600))


def revision_introduced_by(case: Case, new: Manifest) -> Evidence | None:
    """The synced revision that created this version, and how to list and revert its changes."""
    created = instant(new.meta.get("creationTimestamp"))
    history = case.app.status.history
    for index in range(len(history) - 1, 0, -1):
        entry, before = history[index], history[index - 1]
        if not entry.revision or entry.revision == before.revision:
            continue
        if created is not None and _is_within(created, entry.deploy_started_at, entry.deployed_at):
            says = _commits_text(before.revision, entry.revision)
            return cite(case.application, f"/status/history/{index}/revision", says=says)
    return None


def _commits_text(before: str, after: str) -> str:
    """One sync may contain several commits; a chart version is not a commit."""
    if is_commit(before) and is_commit(after):
        return f"the sync that brought it (git log {before[:7]}..{after[:7]})"
    return "the sync that brought it" + (f" (before: {before})" if before else "")


def _is_within(time: datetime, began: datetime | None, ended: datetime | None) -> bool:
    if ended is None:
        return False
    return (began or ended - _SYNC_MARGIN) - _ROUNDING <= time <= ended + _SYNC_MARGIN
