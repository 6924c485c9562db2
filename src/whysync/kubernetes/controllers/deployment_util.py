"""The arithmetic of a Deployment: how many pods may be more, how many may be missing, who gets how many.

Mirrors `pkg/controller/deployment/util`, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from typing import Final

from whysync.json_tree import Json, Missing, Object, dig, fields, integer, same, text
from whysync.kubernetes.controllers.client import annotations_of
from whysync.kubernetes.controllers.conditions import parse_unsigned
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

POD_TEMPLATE_HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = frozenset(
    {
        LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)  # fmt: skip
MAX_PODS: Final = 3000
_NO_LIMIT: Final = 2**31 - 1


def replicas_of(obj: Object) -> int:
    """How many pods are asked for, up to more than any cluster has room for."""
    return min(max(integer(dig(obj, "spec", "replicas"), 1), 0), MAX_PODS)


def status_number(obj: Object, key: str) -> int:
    """A number in the status."""
    return integer(fields(obj.get("status")).get(key))


def scaled_value_from_int_or_percent(value: Json | Missing, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total: `25%`."""
    part = parse_unsigned(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
    if part is not None:
        portion = part * total / 100
        return math.ceil(portion) if up else math.floor(portion)
    return integer(value)


def is_rolling_update(deployment: Object) -> bool:
    return dig(deployment, "spec", "strategy", "type") != "Recreate"


def resolve_fenceposts(deployment: Object) -> tuple[int, int]:
    """How many pods may be more than asked for, and how many may be missing."""
    if not is_rolling_update(deployment):
        return 0, 0
    wanted = replicas_of(deployment)
    how = fields(dig(deployment, "spec", "strategy", "rollingUpdate"))
    surge = scaled_value_from_int_or_percent(how.get("maxSurge"), wanted, up=True)
    gap = scaled_value_from_int_or_percent(how.get("maxUnavailable"), wanted, up=False)
    if not surge and not gap:
        gap = 1
    return surge, min(gap, wanted)


def deadline_of(deployment: Object) -> int | None:
    seconds = dig(deployment, "spec", "progressDeadlineSeconds")
    return seconds if isinstance(seconds, int) and seconds != _NO_LIMIT else None


def history_limit_of(deployment: Object) -> int | None:
    limit = dig(deployment, "spec", "revisionHistoryLimit")
    return limit if isinstance(limit, int) and limit != _NO_LIMIT else None


def revision_of(obj: Object) -> int:
    return parse_unsigned(text(annotations_of(obj).get(REVISION))) or 0


def annotated_number(obj: Object, key: str) -> int | None:
    return parse_unsigned(text(annotations_of(obj).get(key)))


def equal_ignore_hash(deployment: Object, replica_set: Object) -> bool:
    """But for the label with the hash."""
    template, other = (
        fields(dig(deployment, "spec", "template")),
        fields(dig(replica_set, "spec", "template")),
    )
    return same(template.get("spec"), other.get("spec")) and same(_meta(template), _meta(other))


def _meta(template: Object) -> Object:
    meta = dict(fields(template.get("metadata")))
    labels = {key: value for key, value in fields(meta.get("labels")).items() if key != POD_TEMPLATE_HASH}
    return {**meta, "labels": labels}


def new_rs_new_replicas(deployment: Object, total: int, now: int) -> int:
    """How many pods the new ReplicaSet gets, of `now`, where all ReplicaSets together have `total`."""
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return wanted
    how = fields(dig(deployment, "spec", "strategy", "rollingUpdate"))
    most = wanted + scaled_value_from_int_or_percent(how.get("maxSurge"), wanted, up=True)
    return now if total >= most else now + min(most - total, wanted - now)


def get_replica_set_proportion(replica_set: Object, deployment: Object, to_add: int, added: int) -> int:
    """The part of new or surplus pods that falls to a ReplicaSet when the Deployment is scaled."""
    size = replicas_of(replica_set)
    if not size or not to_add or to_add == added:
        return 0
    fraction = _get_replica_set_fraction(size, replica_set, deployment)
    allowed = to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _get_replica_set_fraction(size: int, replica_set: Object, deployment: Object) -> int:
    wanted = replicas_of(deployment)
    if not wanted:
        return -size
    before = annotated_number(replica_set, MAX_REPLICAS) or status_number(deployment, "replicas")
    if not before:
        return 0
    exact = size * (wanted + resolve_fenceposts(deployment)[0]) / before
    return math.floor(exact + 0.5) - size


def with_deployment_annotations(deployment: Object, replica_set_annotations: Object) -> Object:
    """Those of the ReplicaSet with those of the Deployment that belong to the rollout."""
    ours = {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}
    return {**replica_set_annotations, **ours}
