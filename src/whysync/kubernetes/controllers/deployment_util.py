"""Deployment util: maxSurge and maxUnavailable, proportional scaling, annotations of the rollout.

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
    """`spec.replicas`, limited to a number that the simulation can handle."""
    return min(max(integer(dig(obj, "spec", "replicas"), 1), 0), MAX_PODS)


def status_number(obj: Object, key: str) -> int:
    """A number in the status."""
    return integer(fields(obj.get("status")).get(key))


def scaled_value_from_int_or_percent(value: Json | Missing, total: int, *, round_up: bool) -> int:
    """A number, or a percentage of the total: `25%`."""
    percent = parse_unsigned(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
    if percent is not None:
        scaled = percent * total / 100
        return math.ceil(scaled) if round_up else math.floor(scaled)
    return integer(value)


def is_rolling_update(deployment: Object) -> bool:
    return dig(deployment, "spec", "strategy", "type") != "Recreate"


def resolve_fenceposts(deployment: Object) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers of pods."""
    if not is_rolling_update(deployment):
        return 0, 0
    replicas = replicas_of(deployment)
    rolling_update = fields(dig(deployment, "spec", "strategy", "rollingUpdate"))
    surge = scaled_value_from_int_or_percent(rolling_update.get("maxSurge"), replicas, round_up=True)
    unavailable = scaled_value_from_int_or_percent(
        rolling_update.get("maxUnavailable"), replicas, round_up=False
    )
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


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
    """Are the pod templates equal, apart from the label pod-template-hash?"""
    template, replica_set_template = (
        fields(dig(deployment, "spec", "template")),
        fields(dig(replica_set, "spec", "template")),
    )
    return same(template.get("spec"), replica_set_template.get("spec")) and same(
        _meta(template), _meta(replica_set_template)
    )


def _meta(template: Object) -> Object:
    meta = dict(fields(template.get("metadata")))
    labels = {key: value for key, value in fields(meta.get("labels")).items() if key != POD_TEMPLATE_HASH}
    return {**meta, "labels": labels}


def new_rs_new_replicas(deployment: Object, total: int, current: int) -> int:
    """The new size of the new ReplicaSet, from its `current` size and the `total` of all ReplicaSets."""
    replicas = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return replicas
    rolling_update = fields(dig(deployment, "spec", "strategy", "rollingUpdate"))
    max_total = replicas + scaled_value_from_int_or_percent(
        rolling_update.get("maxSurge"), replicas, round_up=True
    )
    return current if total >= max_total else current + min(max_total - total, replicas - current)


def get_replica_set_proportion(replica_set: Object, deployment: Object, to_add: int, added: int) -> int:
    """The share of a ReplicaSet in the pods to add or remove when the Deployment is scaled."""
    size = replicas_of(replica_set)
    if not size or not to_add or to_add == added:
        return 0
    fraction = _get_replica_set_fraction(size, replica_set, deployment)
    allowed = to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _get_replica_set_fraction(size: int, replica_set: Object, deployment: Object) -> int:
    replicas = replicas_of(deployment)
    if not replicas:
        return -size
    annotated_replicas = annotated_number(replica_set, MAX_REPLICAS) or status_number(deployment, "replicas")
    if not annotated_replicas:
        return 0
    new_size = size * (replicas + resolve_fenceposts(deployment)[0]) / annotated_replicas
    return math.floor(new_size + 0.5) - size


def with_deployment_annotations(deployment: Object, replica_set_annotations: Object) -> Object:
    """The annotations of the ReplicaSet with those copied from the Deployment."""
    copied = {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}
    return {**replica_set_annotations, **copied}
