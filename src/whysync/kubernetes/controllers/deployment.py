"""Deployment controller: creates a ReplicaSet per pod template and rolls pods out to the new one.

Mirrors `pkg/controller/deployment`, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import msgspec

from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, same, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Client,
    StatusError,
    annotations_of,
    is_terminating,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import (
    add_seconds,
    condition,
    parse_time,
    parse_unsigned,
    set_condition,
    without,
)
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.pod_control import claim_objects, is_finished, potential_owners
from whysync.kubernetes.controllers.template_hash import template_hash
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

_PROGRESSING, _AVAILABLE, _FAILURE = "Progressing", "Available", "ReplicaFailure"
_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


class DeploymentController(QueueController):
    name = "deployment"
    main = DEPLOYMENTS
    owner_kind = "Deployment"
    dependents = frozenset({REPLICA_SETS, PODS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()

    def keys_of(self, change: Change) -> Iterable[Key]:
        if change.object_key[0] != PODS:
            return super().keys_of(change)
        if change.type != "DELETED":
            return ()
        owner = controller_of(change.obj)  # the last old pod may be what a Recreate waits for
        if owner.get("kind") != "ReplicaSet":
            return ()
        replica_set = self.client.get(REPLICA_SETS, change.object_key[1], text(owner.get("name")))
        name = text(controller_of(replica_set or {}).get("name"))
        return [(change.object_key[1], name)] if name else ()

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:
        return potential_owners(self.client, DEPLOYMENTS, change)

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    # -- one Deployment ---------------------------------------------------------------------------

    def sync(self, obj: Object) -> None:
        sets = ReplicaSetControl(self.client, obj).get_replica_sets()
        if is_terminating(obj):
            self._sync_deployment_status(obj, sets)
            return
        obj = self._check_paused_conditions(obj)
        control = ReplicaSetControl(self.client, obj)
        if dig(obj, "spec", "paused") is True:
            control.scale(sets)
            control.cleanup_deployment(sets)
            self._sync_deployment_status(obj, sets)
        elif self._is_scaling_event(obj, sets):
            obj, status_written = control.sync_revision(sets)
            control.scale(sets)
            if not status_written:
                self._sync_deployment_status(obj, sets)
        elif is_rolling_update(obj):
            self._rollout_rolling(obj, sets)
        else:
            self._rollout_recreate(obj, sets)

    def _is_scaling_event(self, obj: Object, sets: ReplicaSets) -> bool:
        """Has the number of replicas changed since it was last written to the ReplicaSets?"""
        return any(
            annotated_number(replica_set, DESIRED_REPLICAS) not in (None, replicas_of(obj))
            for replica_set in sets.all
            if replicas_of(replica_set)
        )

    def _rollout_rolling(self, obj: Object, sets: ReplicaSets) -> None:
        control = ReplicaSetControl(self.client, obj)
        obj, status_written = control.get_new_replica_set(sets)
        if sets.new is None:
            self._requeue_after_failure(obj)
            return
        self._backoff.forget((namespace_of(obj), name_of(obj)))
        if status_written:
            # The real controller continues with its old copy here, and its status write gets a conflict.
            control.reconcile_rolling_update(sets)
            self.queue.add((namespace_of(obj), name_of(obj)))
            return
        if not control.reconcile_rolling_update(sets) and _deployment_complete(
            obj, fields(obj.get("status"))
        ):
            control.cleanup_deployment(sets)
        self._sync_rollout_status(obj, sets)

    def _rollout_recreate(self, obj: Object, sets: ReplicaSets) -> None:
        control = ReplicaSetControl(self.client, obj)
        if control.scale_down_old_replica_sets_for_recreate(sets) or self._old_pods_running(sets):
            self._sync_rollout_status(obj, sets)
            return
        obj, status_written = control.get_new_replica_set(sets)
        if sets.new is None:
            self._requeue_after_failure(obj)
            return
        self._backoff.forget((namespace_of(obj), name_of(obj)))
        control.scale_replica_set(sets, sets.new, replicas_of(obj))
        if status_written:
            self.queue.add((namespace_of(obj), name_of(obj)))
            return
        if _deployment_complete(obj, fields(obj.get("status"))):
            control.cleanup_deployment(sets)
        self._sync_rollout_status(obj, sets)

    def _old_pods_running(self, sets: ReplicaSets) -> bool:
        return any(status_number(replica_set, "replicas") for replica_set in sets.old) or any(
            not is_finished(pod) for replica_set in sets.old for pod in self.client.owned(PODS, replica_set)
        )

    def _requeue_after_failure(self, obj: Object) -> None:
        self.enqueue_after(obj, self._backoff.next((namespace_of(obj), name_of(obj))))

    # -- status -----------------------------------------------------------------------------------

    def _check_paused_conditions(self, obj: Object) -> Object:
        if deadline_of(obj) is None:
            return obj
        status = fields(obj.get("status"))
        existing = items(status.get("conditions"))
        reason = condition(existing, _PROGRESSING).get("reason")
        if reason == "ProgressDeadlineExceeded":
            return obj
        paused = dig(obj, "spec", "paused") is True
        if paused == (reason == "DeploymentPaused"):
            return obj
        reason_and_message = ("DeploymentPaused", "Deployment is paused")
        if not paused:
            reason_and_message = ("DeploymentResumed", "Deployment is resumed")
        conditions = set_condition(existing, self._condition(_PROGRESSING, "Unknown", *reason_and_message))
        return self.client.update_status(obj, {**status, "conditions": conditions})

    def _condition(self, kind: str, status: str, reason: str, message: str) -> Object:
        now = self.client.stamp()
        return {
            "type": kind,
            "status": status,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }

    def _sync_deployment_status(self, obj: Object, sets: ReplicaSets) -> None:
        self.client.update_status(obj, self._calculate_status(obj, sets))

    def _sync_rollout_status(self, obj: Object, sets: ReplicaSets) -> None:
        status = self._calculate_status(obj, sets)
        conditions = items(status.get("conditions"))
        deadline = deadline_of(obj)
        if deadline is None:
            conditions = without(conditions, _PROGRESSING)
        else:
            conditions = self._progressing_conditions(obj, sets, status, conditions)
        failures = [
            failure
            for replica_set in ([sets.new] if sets.new else [])
            + (sets.old if not _replica_failure(sets.new) else [])
            if (failure := _replica_failure(replica_set))
        ]
        if failures:
            conditions = set_condition(
                conditions, {**failures[0], "lastUpdateTime": failures[0]["lastTransitionTime"]}
            )
        else:
            conditions = without(conditions, _FAILURE)
        status["conditions"] = conditions
        obj = self.client.update_status(obj, status)
        if deadline is not None:
            self._requeue_stuck_deployment(obj, deadline)

    def _progressing_conditions(
        self, obj: Object, sets: ReplicaSets, status: Object, conditions: list[Json]
    ) -> list[Json]:
        old_status = fields(obj.get("status"))
        current = condition(items(old_status.get("conditions")), _PROGRESSING)
        if (
            integer(status.get("replicas")) == integer(status.get("updatedReplicas"))
            and current.get("reason") == "NewReplicaSetAvailable"
        ):
            return conditions
        subject = f'Deployment "{name_of(obj)}"' if sets.new is None else f'ReplicaSet "{name_of(sets.new)}"'
        if _deployment_complete(obj, status):
            message = f"{subject} has successfully progressed."
            return set_condition(
                conditions, self._condition(_PROGRESSING, "True", "NewReplicaSetAvailable", message)
            )
        if _deployment_progressing(old_status, status):
            new = self._condition(_PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.")
            if current.get("status") == "True":
                new["lastTransitionTime"] = current.get("lastTransitionTime")
            return [*without(conditions, _PROGRESSING), new]
        if self._deployment_timed_out(obj, condition(conditions, _PROGRESSING)):
            message = f"{subject} has timed out progressing."
            return set_condition(
                conditions, self._condition(_PROGRESSING, "False", "ProgressDeadlineExceeded", message)
            )
        return conditions

    def _deployment_timed_out(self, obj: Object, progressing: Object) -> bool:
        if not progressing or progressing.get("reason") == "NewReplicaSetAvailable":
            return False
        if progressing.get("reason") == "ProgressDeadlineExceeded":
            return True
        since = parse_time(text(progressing.get("lastUpdateTime")))
        deadline = deadline_of(obj)
        return since is not None and deadline is not None and add_seconds(since, deadline) < self.client.now

    def _requeue_stuck_deployment(self, obj: Object, deadline: int) -> None:
        status = fields(obj.get("status"))
        progressing = condition(items(status.get("conditions")), _PROGRESSING)
        since = parse_time(text(progressing.get("lastUpdateTime")))
        # A rollout that was complete once does not time out any more, even if pods become unavailable.
        if since is None or progressing.get("reason") in (
            "ProgressDeadlineExceeded",
            "NewReplicaSetAvailable",
        ):
            return
        if not _deployment_complete(obj, status):
            # One second more than the deadline, because timestamps are whole seconds.
            self.enqueue_at(obj, add_seconds(max(add_seconds(since, deadline), self.client.now), 1))

    def _calculate_status(self, obj: Object, sets: ReplicaSets) -> Object:
        old_status = fields(obj.get("status"))
        available = sum(status_number(replica_set, "availableReplicas") for replica_set in sets.all)
        total_replicas = sum(replicas_of(replica_set) for replica_set in sets.all)
        counts = (
            sum(status_number(replica_set, "replicas") for replica_set in sets.all),
            status_number(sets.new, "replicas") if sets.new else 0,
            sum(status_number(replica_set, "readyReplicas") for replica_set in sets.all),
            available,
            max(total_replicas - available, 0),
        )
        status: Object = {"observedGeneration": integer(dig(obj, "metadata", "generation"))}
        status.update({key: count for key, count in zip(_COUNTS, counts, strict=True) if count})
        terminating = _terminating_replicas(sets)
        if terminating is not None:
            status["terminatingReplicas"] = terminating
        if available >= replicas_of(obj) - resolve_fenceposts(obj)[1]:
            availability = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        else:
            availability = (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        conditions = set_condition(
            items(old_status.get("conditions")), self._condition(_AVAILABLE, *availability)
        )
        status["conditions"] = conditions
        if "collisionCount" in old_status:
            status["collisionCount"] = old_status["collisionCount"]
        return status


def _terminating_replicas(sets: ReplicaSets) -> int | None:
    total = 0
    for replica_set in sets.all:
        status = fields(replica_set.get("status"))
        if "terminatingReplicas" not in status:
            if integer(status.get("observedGeneration")):
                return None
            continue
        total += integer(status["terminatingReplicas"])
    return total


def _replica_failure(replica_set: Object | None) -> Object:
    return condition(items(dig(replica_set, "status", "conditions")), _FAILURE) if replica_set else {}


def _deployment_complete(obj: Object, status: Object) -> bool:
    replicas = replicas_of(obj)
    return all(
        integer(status.get(key)) == replicas for key in ("updatedReplicas", "replicas", "availableReplicas")
    ) and integer(status.get("observedGeneration")) >= integer(dig(obj, "metadata", "generation"))


def _deployment_progressing(old_status: Object, new_status: Object) -> bool:
    def count(status: Object, key: str) -> int:
        return integer(status.get(key))

    def old(status: Object) -> int:
        return count(status, "replicas") - count(status, "updatedReplicas")

    return (
        count(new_status, "updatedReplicas") > count(old_status, "updatedReplicas")
        or old(new_status) < old(old_status)
        or count(new_status, "readyReplicas") > count(old_status, "readyReplicas")
        or count(new_status, "availableReplicas") > count(old_status, "availableReplicas")
    )


# The ReplicaSets of a Deployment: finds or creates the new one, and scales new and old ones.
#
# Mirrors `sync.go`, `rolling.go` and `recreate.go` of the Deployment controller, Kubernetes 1.36.


_COMPONENT: Final = "deployment-controller"
_MAX_NAME_LENGTH: Final = 253
_MAX_HISTORY_LENGTH: Final = 2000


class ReplicaSets(msgspec.Struct):
    new: Object | None
    old: list[Object] = msgspec.field(default_factory=list[Object])
    """Oldest first."""

    @property
    def all(self) -> list[Object]:
        return self.old if self.new is None else [*self.old, self.new]

    def replace(self, replica_set: Object) -> None:
        if self.new is not None and uid_of(self.new) == uid_of(replica_set):
            self.new = replica_set
        else:
            self.old = [replica_set if uid_of(old) == uid_of(replica_set) else old for old in self.old]


def _creation_order(replica_set: Object) -> tuple[str, str]:
    return text(dig(replica_set, "metadata", "creationTimestamp")), name_of(replica_set)


class ReplicaSetControl:
    """Creates, scales and cleans up the ReplicaSets of one Deployment."""

    def __init__(self, client: Client, deployment: Object) -> None:
        self._client = client
        self._obj = deployment

    def get_replica_sets(self) -> ReplicaSets:
        selector = fields(self._obj.get("spec")).get("selector")
        owned = sorted(claim_objects(self._client, REPLICA_SETS, self._obj, selector), key=_creation_order)
        new = next((replica_set for replica_set in owned if equal_ignore_hash(self._obj, replica_set)), None)
        new = new or next(
            (replica_set for replica_set in owned if self._has_template_hash(replica_set)), None
        )
        return ReplicaSets(
            new, [replica_set for replica_set in owned if new is None or replica_set is not new]
        )

    def _has_template_hash(self, replica_set: Object) -> bool:
        """Was it created from this template? Truncated facts lack the defaults, so the hash is compared."""
        return (
            text(fields(dig(replica_set, "metadata", "labels")).get(POD_TEMPLATE_HASH))
            == self._template_hash()
        )

    def _template_hash(self) -> str:
        collisions = dig(self._obj, "status", "collisionCount")
        template = fields(dig(self._obj, "spec", "template"))
        return template_hash(template, collisions if isinstance(collisions, int) else None)

    # -- the new ReplicaSet -----------------------------------------------------------------------

    def get_new_replica_set(self, sets: ReplicaSets) -> tuple[Object, bool]:
        """Finds or creates the new ReplicaSet; returns the Deployment, and whether its status was written."""
        if sets.new is not None:
            return self.sync_revision(sets)
        return self._create_new_replica_set(sets)

    def sync_revision(self, sets: ReplicaSets) -> tuple[Object, bool]:
        """Sets the highest revision on the new ReplicaSet and the Deployment."""
        new = sets.new
        if new is None:
            return self._obj, False
        annotations = self._set_new_replica_set_annotations(new, sets)
        min_ready_seconds = integer(dig(self._obj, "spec", "minReadySeconds"))
        if (
            annotations != annotations_of(new)
            or integer(dig(new, "spec", "minReadySeconds")) != min_ready_seconds
        ):
            spec = dict(fields(new.get("spec")))
            if min_ready_seconds:
                spec["minReadySeconds"] = min_ready_seconds
            else:
                spec.pop("minReadySeconds", None)
            meta: Object = {**fields(new.get("metadata")), "annotations": annotations}
            sets.replace(self._client.update({**new, "metadata": meta, "spec": spec}))
            return self._obj, False
        reason = ("FoundNewReplicaSet", f'Found new replica set "{name_of(new)}"')
        return self._record_revision(text(annotations.get(REVISION)), reason, overwrite=False)

    def _set_new_replica_set_annotations(self, new: Object, sets: ReplicaSets) -> Object:
        annotations = with_deployment_annotations(self._obj, annotations_of(new))
        new_revision = max((revision_of(replica_set) for replica_set in sets.old), default=0) + 1
        revision = text(annotations.get(REVISION))
        revision_number = parse_unsigned(revision)
        if revision and revision_number is None:
            return annotations
        if (revision_number or 0) < new_revision:
            annotations[REVISION] = str(new_revision)
            if revision:
                history = text(annotations.get(REVISION_HISTORY))
                new_history = f"{history},{revision}" if history else revision
                while len(new_history) > _MAX_HISTORY_LENGTH and "," in new_history:
                    new_history = new_history.partition(",")[2]
                annotations[REVISION_HISTORY] = new_history
        return annotations

    def _create_new_replica_set(self, sets: ReplicaSets) -> tuple[Object, bool]:
        obj = self._obj
        new = self._new_replica_set(sets)
        name = name_of(new)
        try:
            created = self._client.create(new)
        except StatusError as error:
            if error.code == 409:
                return self._handle_name_collision(sets, name)
            if error.is_namespace_terminating:
                return obj, False
            message = f'Failed to create new replica set "{name}": {error.message}'
            if deadline_of(obj) is not None:
                obj = self._set_progressing_condition("False", "ReplicaSetCreateError", message)
            self._client.event(obj, "Warning", "ReplicaSetCreateError", message, _COMPONENT)
            return obj, True
        sets.new = created
        if replicas_of(created):
            self._record_scaling_event(name, 0, replicas_of(created))
        reason = ("NewReplicaSetCreated", f'Created new replica set "{name}"')
        return self._record_revision(text(annotations_of(created).get(REVISION)), reason, overwrite=True)

    def _new_replica_set(self, sets: ReplicaSets) -> Object:
        obj = self._obj
        template = fields(dig(obj, "spec", "template"))
        hash = self._template_hash()
        name = f"{name_of(obj)[: _MAX_NAME_LENGTH - 1 - len(hash)]}-{hash}"
        meta = fields(template.get("metadata"))
        labels: Object = {**fields(meta.get("labels")), POD_TEMPLATE_HASH: hash}
        selector = fields(dig(obj, "spec", "selector"))
        hashed_selector: Object = {
            **selector,
            "matchLabels": {**fields(selector.get("matchLabels")), POD_TEMPLATE_HASH: hash},
        }
        replicas = new_rs_new_replicas(obj, sum(replicas_of(replica_set) for replica_set in sets.old), 0)
        template_meta: Object = {**meta, "labels": labels}
        spec: Object = {
            "replicas": replicas,
            "selector": hashed_selector,
            "template": {**template, "metadata": template_meta},
        }
        if min_ready_seconds := integer(dig(obj, "spec", "minReadySeconds")):
            spec["minReadySeconds"] = min_ready_seconds
        annotations = with_deployment_annotations(obj, {})
        annotations[REVISION] = str(
            max((revision_of(replica_set) for replica_set in sets.old), default=0) + 1
        )
        annotations[DESIRED_REPLICAS] = str(replicas_of(obj))
        annotations[MAX_REPLICAS] = str(replicas_of(obj) + resolve_fenceposts(obj)[0])
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": namespace_of(obj),
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [owner_reference(obj)],
            },
            "spec": spec,
        }

    def _handle_name_collision(self, sets: ReplicaSets, name: str) -> tuple[Object, bool]:
        """The name exists: uses the ReplicaSet if it is the Deployment's own, else counts a collision."""
        existing = self._client.get(REPLICA_SETS, namespace_of(self._obj), name)
        owner = controller_of(existing or {}).get("uid")
        if existing is not None and owner == uid_of(self._obj) and equal_ignore_hash(self._obj, existing):
            sets.new = existing
            return self._obj, False
        status = fields(self._obj.get("status"))
        status = {**status, "collisionCount": integer(status.get("collisionCount")) + 1}
        return self._client.update_status(self._obj, status), True

    def _record_revision(
        self, revision: str, reason_and_message: tuple[str, str], *, overwrite: bool
    ) -> tuple[Object, bool]:
        """Writes the revision and, if needed, the condition Progressing to the Deployment."""
        obj = self._obj
        status = dict(fields(obj.get("status")))
        conditions = items(status.get("conditions"))
        if deadline_of(obj) is not None and (overwrite or not condition(conditions, "Progressing")):
            status["conditions"] = set_condition(
                conditions, self._progressing_condition("True", *reason_and_message)
            )
        annotations: Object = {**annotations_of(obj), REVISION: revision}
        new = self._client.update_status(obj, status, annotations)
        self._obj = new
        return new, new is not obj

    def _set_progressing_condition(self, status: str, reason: str, message: str) -> Object:
        old_status = fields(self._obj.get("status"))
        conditions = set_condition(
            items(old_status.get("conditions")), self._progressing_condition(status, reason, message)
        )
        return self._client.update_status(self._obj, {**old_status, "conditions": conditions})

    def _progressing_condition(self, status: str, reason: str, message: str) -> Object:
        now = self._client.stamp()
        return {
            "type": "Progressing",
            "status": status,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }

    # -- scaling ----------------------------------------------------------------------------------

    def reconcile_rolling_update(self, sets: ReplicaSets) -> bool:
        """One step of a rolling update: scales the new ReplicaSet, or else the old ones."""
        new = sets.new
        assert new is not None
        replicas = replicas_of(self._obj)
        if replicas_of(new) > replicas:
            return self.scale_replica_set(sets, new, replicas)
        if replicas_of(new) < replicas:
            total = sum(replicas_of(replica_set) for replica_set in sets.all)
            if self.scale_replica_set(sets, new, new_rs_new_replicas(self._obj, total, replicas_of(new))):
                return True
        return self._reconcile_old_replica_sets(sets, new)

    def _reconcile_old_replica_sets(self, sets: ReplicaSets, new: Object) -> bool:
        if not any(replicas_of(replica_set) for replica_set in sets.old):
            return False
        min_available = replicas_of(self._obj) - resolve_fenceposts(self._obj)[1]
        total = sum(replicas_of(replica_set) for replica_set in sets.all)
        max_scaled_down = total - min_available - (replicas_of(new) - status_number(new, "availableReplicas"))
        if max_scaled_down <= 0:
            return False
        cleaned_up = 0
        for replica_set in [
            old for old in sets.old if replicas_of(old)
        ]:  # those that are not available first
            unhealthy = replicas_of(replica_set) - status_number(replica_set, "availableReplicas")
            if cleaned_up < max_scaled_down and unhealthy > 0:
                count = min(max_scaled_down - cleaned_up, unhealthy)
                self.scale_replica_set(sets, replica_set, replicas_of(replica_set) - count)
                cleaned_up += count
        max_cleanup = (
            sum(status_number(replica_set, "availableReplicas") for replica_set in sets.all) - min_available
        )
        scaled_down = 0
        for replica_set in [old for old in sets.old if replicas_of(old)]:
            if scaled_down < max_cleanup:
                count = min(replicas_of(replica_set), max_cleanup - scaled_down)
                self.scale_replica_set(sets, replica_set, replicas_of(replica_set) - count)
                scaled_down += count
        return cleaned_up + scaled_down > 0

    def scale_down_old_replica_sets_for_recreate(self, sets: ReplicaSets) -> bool:
        """Scales all old ReplicaSets to 0."""
        active = [replica_set for replica_set in sets.old if replicas_of(replica_set)]
        for replica_set in active:
            self.scale_replica_set(sets, replica_set, 0)
        return bool(active)

    def scale(self, sets: ReplicaSets) -> None:
        """The number of replicas has changed: all ReplicaSets are scaled proportionally."""
        replicas = replicas_of(self._obj)
        active = [replica_set for replica_set in sets.all if replicas_of(replica_set)]
        if len(active) <= 1:
            replica_set = active[0] if active else sets.new or (sets.old[-1] if sets.old else None)
            if replica_set is not None and replicas_of(replica_set) != replicas:
                self.scale_replica_set(sets, replica_set, replicas)
            return
        if sets.new is not None and self._is_saturated(sets.new):
            for replica_set in [old for old in sets.old if replicas_of(old)]:
                self.scale_replica_set(sets, replica_set, 0)
        elif is_rolling_update(self._obj):
            self._scale_proportionally(sets, active)

    def _is_saturated(self, new: Object) -> bool:
        replicas = replicas_of(self._obj)
        return (
            replicas_of(new) == replicas
            and text(annotations_of(new).get(DESIRED_REPLICAS)) == str(replicas)
            and status_number(new, "availableReplicas") == replicas
        )

    def _scale_proportionally(self, sets: ReplicaSets, active: list[Object]) -> None:
        replicas = replicas_of(self._obj)
        allowed = replicas + resolve_fenceposts(self._obj)[0] if replicas else 0
        to_add = allowed - sum(replicas_of(replica_set) for replica_set in active)
        by_age = sorted(active, key=_creation_order, reverse=to_add > 0)
        ordered = sorted(by_age, key=lambda replica_set: -replicas_of(replica_set)) if to_add else by_age
        sizes: list[int] = []
        added = 0
        for replica_set in ordered:
            proportion = get_replica_set_proportion(replica_set, self._obj, to_add, added)
            sizes.append(replicas_of(replica_set) + proportion)
            added += proportion
        sizes[0] = max(sizes[0] + to_add - added, 0)
        for replica_set, size in zip(ordered, sizes, strict=True):
            self.scale_replica_set(sets, replica_set, size, always=True)

    def scale_replica_set(
        self, sets: ReplicaSets, replica_set: Object, new_size: int, *, always: bool = False
    ) -> bool:
        """Sets spec.replicas and the annotations with the Deployment's desired and maximum replicas."""
        old_size = replicas_of(replica_set)
        if old_size == new_size and not always:
            return False
        replicas = replicas_of(self._obj)
        annotations: Object = {
            **annotations_of(replica_set),
            DESIRED_REPLICAS: str(replicas),
            MAX_REPLICAS: str(replicas + resolve_fenceposts(self._obj)[0]),
        }
        if old_size == new_size and annotations == annotations_of(replica_set):
            return False
        meta: Object = {**fields(replica_set.get("metadata")), "annotations": annotations}
        spec: Object = {**fields(replica_set.get("spec")), "replicas": new_size}
        sets.replace(self._client.update({**replica_set, "metadata": meta, "spec": spec}))
        if old_size != new_size:
            self._record_scaling_event(name_of(replica_set), old_size, new_size)
        return old_size != new_size

    def _record_scaling_event(self, name: str, old_size: int, new_size: int) -> None:
        direction = "up" if new_size > old_size else "down"
        message = f"Scaled {direction} replica set {name} from {old_size} to {new_size}"
        self._client.event(self._obj, "Normal", "ScalingReplicaSet", message, _COMPONENT)

    def cleanup_deployment(self, sets: ReplicaSets) -> None:
        """Deletes old ReplicaSets beyond revisionHistoryLimit, the oldest revisions first."""
        limit = history_limit_of(self._obj)
        candidates = [replica_set for replica_set in sets.old if not is_terminating(replica_set)]
        if limit is None or len(candidates) <= limit:
            return
        by_revision = sorted(candidates, key=lambda old: (revision_of(old), _creation_order(old)))
        for replica_set in by_revision[: len(candidates) - limit]:
            generation = integer(dig(replica_set, "metadata", "generation"))
            observed = status_number(replica_set, "observedGeneration") >= generation
            if not status_number(replica_set, "replicas") and not replicas_of(replica_set) and observed:
                self._client.delete(replica_set)
                sets.old = [old for old in sets.old if uid_of(old) != uid_of(replica_set)]


# Deployment util: maxSurge and maxUnavailable, proportional scaling, annotations of the rollout.
#
# Mirrors `pkg/controller/deployment/util`, Kubernetes 1.36.


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
