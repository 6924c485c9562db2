"""The ReplicaSets of a Deployment: finds or creates the new one, and scales new and old ones.

Mirrors `sync.go`, `rolling.go` and `recreate.go` of the Deployment controller, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.client import (
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
from whysync.kubernetes.controllers.conditions import condition, parse_unsigned, set_condition
from whysync.kubernetes.controllers.deployment_util import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    POD_TEMPLATE_HASH,
    REVISION,
    REVISION_HISTORY,
    deadline_of,
    equal_ignore_hash,
    get_replica_set_proportion,
    history_limit_of,
    is_rolling_update,
    new_rs_new_replicas,
    replicas_of,
    resolve_fenceposts,
    revision_of,
    status_number,
    with_deployment_annotations,
)
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.pod_control import claim_objects
from whysync.kubernetes.controllers.template_hash import template_hash

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
