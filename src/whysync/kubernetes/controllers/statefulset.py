"""StatefulSet controller: pods with ordinals and their own claims, created and updated in order.

Mirrors `pkg/controller/statefulset`, Kubernetes 1.36 (`MaxUnavailableStatefulSet` is off by default).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    CLAIMS,
    PODS,
    REVISIONS,
    STATEFUL_SETS,
    Client,
    StatusError,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import parse_unsigned
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
from whysync.kubernetes.controllers.controller_revisions import (
    REVISION_HASH,
    RevisionHistory,
    data_hash,
    revision_data,
    revision_hash_of,
    template_of_revision,
)
from whysync.kubernetes.controllers.deployment import replicas_of
from whysync.kubernetes.controllers.pod_control import (
    claim_objects,
    is_available,
    is_finished,
    is_ready,
    next_available,
    phase_of,
    pod_from_template,
    potential_owners,
)

_DEFAULT_HISTORY_LIMIT: Final = 10


class StatefulSetController(QueueController):
    name = "statefulset"
    main = STATEFUL_SETS
    owner_kind = "StatefulSet"
    dependents = frozenset({PODS, REVISIONS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:
        if change.object_key[0] != PODS:
            return
        for namespace, name in potential_owners(self.client, STATEFUL_SETS, change):
            if ordinal_of(self.client.get(STATEFUL_SETS, namespace, name) or {}, change.obj) >= 0:
                yield namespace, name

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        selector = fields(obj.get("spec")).get("selector")
        pods = claim_objects(
            self.client, PODS, obj, selector, can_adopt=lambda pod: ordinal_of(obj, pod) >= 0
        )
        pods = [pod for pod in pods if ordinal_of(obj, pod) >= 0]
        try:
            succeeded = _StatefulSetSync(self.client, obj, pods).update_stateful_set()
        except StatusError:
            succeeded = False
        if not succeeded:
            self.enqueue_after(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        min_ready_seconds = integer(dig(obj, "spec", "minReadySeconds"))
        when = next_available(pods, min_ready_seconds, self.client.now) if min_ready_seconds else None
        if when is not None:
            self.enqueue_at(obj, when)


class _StatefulSetSync:
    """One sync of a StatefulSet and its pods."""

    def __init__(self, client: Client, obj: Object, pods: list[Object]) -> None:
        self._client = client
        self._obj = obj
        self._pods = pods
        self._min_ready_seconds = integer(dig(obj, "spec", "minReadySeconds"))
        self._replicas = replicas_of(obj)
        self._start_ordinal = integer(dig(obj, "spec", "ordinals", "start"))
        self._monotonic = dig(obj, "spec", "podManagementPolicy") != "Parallel"
        self._pod_control = StatefulPodControl(client, obj)
        self._collisions = integer(dig(obj, "status", "collisionCount"))
        self._deleted = 0

    def update_stateful_set(self) -> bool:
        """False if an operation failed and must be retried."""
        history = RevisionHistory(self._client, self._obj)
        revisions = history.all()
        if is_terminating(self._obj) and not revisions:
            # The garbage collector deleted them. The real controller would create one more revision.
            return True
        update = history.get_or_create(data_hash(revision_data(self._obj), self._collisions), revisions)
        while update is None:
            self._collisions += 1
            update = history.get_or_create(data_hash(revision_data(self._obj), self._collisions), revisions)
        current_name = dig(self._obj, "status", "currentRevision")
        current = next((revision for revision in revisions if name_of(revision) == current_name), update)
        self._current, self._update = current, update
        replicas, condemned = self._replicas_and_condemned()
        succeeded = True
        if not is_terminating(self._obj):
            succeeded = self._process_replicas(replicas, condemned)
        self._update_status([*replicas, *condemned] if not is_terminating(self._obj) else self._pods)
        used = {name_of(current), name_of(update), *(revision_hash_of(pod) for pod in self._pods)}
        limit = dig(self._obj, "spec", "revisionHistoryLimit")
        history.truncate_history(history.all(), used, integer(limit, _DEFAULT_HISTORY_LIMIT))
        return succeeded

    def _replicas_and_condemned(self) -> tuple[list[Object], list[Object]]:
        """The replicas, some of them not created yet, and the condemned pods, highest ordinal first."""
        pods_by_ordinal = {ordinal_of(self._obj, pod): pod for pod in self._pods}
        ordinals = range(self._start_ordinal, self._start_ordinal + self._replicas)
        replicas = [pods_by_ordinal.get(ordinal) or self._new_versioned_pod(ordinal) for ordinal in ordinals]
        condemned = sorted((ordinal for ordinal in pods_by_ordinal if ordinal not in ordinals), reverse=True)
        return replicas, [pods_by_ordinal[ordinal] for ordinal in condemned]

    def _new_versioned_pod(self, ordinal: int) -> Object:
        """A new pod; below the partition, of the current revision instead of the update revision."""
        strategy = fields(dig(self._obj, "spec", "updateStrategy"))
        rolling = fields(strategy.get("rollingUpdate"))
        if "rollingUpdate" in strategy:
            use_current = ordinal < self._start_ordinal + integer(rolling.get("partition"))
        else:
            current = integer(dig(self._obj, "status", "currentReplicas"))
            use_current = strategy.get("type") == "RollingUpdate" and ordinal < self._start_ordinal + current
        revision = self._current if use_current else self._update
        return self._pod_control.new_pod(ordinal, template_of_revision(revision), name_of(revision))

    # -- pods -------------------------------------------------------------------------------------

    def _process_replicas(self, replicas: list[Object], condemned: list[Object]) -> bool:
        for index, pod in enumerate(replicas):
            must_wait, succeeded = self._process_replica(pod, replicas, index)
            if not succeeded:
                return False
            if must_wait and self._monotonic:
                return True
        for pod in condemned:
            self._pod_control.update_claim_owner_refs(pod, scaled_down=True)
        first_unhealthy = next(
            (pod for pod in [*replicas, *reversed(condemned)] if self._is_unavailable(pod)), None
        )
        for pod in condemned:
            if is_terminating(pod):
                if self._monotonic:
                    return True
                continue
            if self._monotonic and self._is_unavailable(pod) and pod is not first_unhealthy:
                return True
            if not self._pod_control.delete(pod):
                return False
            if self._monotonic:
                return True
        if dig(self._obj, "spec", "updateStrategy", "type") == "OnDelete":
            return True
        return self._rolling_update(replicas)

    def _process_replica(self, pod: Object, replicas: list[Object], index: int) -> tuple[bool, bool]:
        """Whether the following replicas must wait for this one, and whether all operations succeeded."""
        if is_finished(pod):
            return True, is_terminating(pod) or self._pod_control.delete(pod)
        if not phase_of(pod):
            if self._pod_control.is_claim_stale(pod):
                return True, True
            return True, self._pod_control.create(pod)
        if phase_of(pod) == "Pending" and not self._pod_control.create_claims(pod):
            return True, False
        if is_terminating(pod) or not self._is_running_and_available(pod):
            return True, True
        replicas[index] = self._pod_control.update_pod(pod)
        return False, True

    def _rolling_update(self, replicas: list[Object]) -> bool:
        """Deletes the last pod of an old revision once all pods with higher ordinals are available."""
        partition = integer(dig(self._obj, "spec", "updateStrategy", "rollingUpdate", "partition"))
        for pod in reversed(replicas[max(partition, 0) :]):
            if revision_hash_of(pod) != name_of(self._update) and not is_terminating(pod):
                if not self._pod_control.delete(pod):
                    return False
                self._deleted += 1
                return True
            if self._is_unavailable(pod):
                return True
        return True

    def _is_running_and_available(self, pod: Object) -> bool:
        running = phase_of(pod) == "Running" and is_ready(pod)
        return running and is_available(pod, self._min_ready_seconds, self._client.now)

    def _is_unavailable(self, pod: Object) -> bool:
        return not is_available(pod, self._min_ready_seconds, self._client.now) or is_terminating(pod)

    # -- status -----------------------------------------------------------------------------------

    def _update_status(self, pods: list[Object]) -> None:
        created = [pod for pod in pods if phase_of(pod)]
        ready = [pod for pod in created if phase_of(pod) == "Running" and is_ready(pod)]
        available = [pod for pod in ready if is_available(pod, self._min_ready_seconds, self._client.now)]
        revisions = [revision_hash_of(pod) for pod in created if not is_terminating(pod)]
        current, update = name_of(self._current), name_of(self._update)
        counts = {
            "replicas": len(created),
            "readyReplicas": len(ready),
            "currentReplicas": revisions.count(current) - self._deleted,
            "updatedReplicas": revisions.count(update),
        }
        rolling = dig(self._obj, "spec", "updateStrategy", "type") == "RollingUpdate"
        if rolling and all(
            counts[key] == self._replicas for key in ("updatedReplicas", "readyReplicas", "replicas")
        ):
            counts["currentReplicas"], current = counts["updatedReplicas"], update
        status: Object = {
            "observedGeneration": integer(dig(self._obj, "metadata", "generation")),
            "replicas": counts["replicas"],
            **{key: count for key, count in counts.items() if count and key != "replicas"},
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": self._collisions,
            "availableReplicas": len(available),
        }
        self._client.update_status(self._obj, status)


# StatefulPodControl: creates, updates and deletes pods and claims of a StatefulSet, with their events.
#
# Mirrors `stateful_pod_control.go`, Kubernetes 1.36.


_COMPONENT: Final = "statefulset-controller"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def ordinal_of(obj: Object, pod: Object) -> int:
    """The ordinal of a pod of this StatefulSet; -1 if the name does not belong to it."""
    parent, _, suffix = name_of(pod).rpartition("-")
    ordinal = parse_unsigned(suffix) if parent == name_of(obj) else None
    return -1 if ordinal is None else ordinal


class StatefulPodControl:
    def __init__(self, client: Client, obj: Object) -> None:
        self._client = client
        self._obj = obj

    def new_pod(self, ordinal: int, template: Object, revision: str) -> Object:
        """A pod that is not created yet; it has no phase."""
        obj = self._obj
        pod = pod_from_template(template, obj)
        meta = fields(pod.get("metadata"))
        name = f"{name_of(obj)}-{ordinal}"
        labels: Object = {
            **fields(meta.get("labels")),
            _POD_NAME: name,
            _POD_INDEX: str(ordinal),
            REVISION_HASH: revision,
        }
        spec: Object = {**fields(pod.get("spec")), "hostname": name}
        if service := text(dig(obj, "spec", "serviceName")):
            spec["subdomain"] = service
        volumes = self._volumes(ordinal, items(spec.get("volumes")))
        if volumes:
            spec["volumes"] = volumes
        pod_meta: Object = {**meta, "name": name, "labels": labels}
        return {**pod, "metadata": pod_meta, "spec": spec}

    def _claim_templates(self) -> list[Object]:
        return [
            fields(volume_claim_template)
            for volume_claim_template in items(dig(self._obj, "spec", "volumeClaimTemplates"))
        ]

    def _claim_name(self, template: Object, ordinal: int) -> str:
        return f"{name_of(template)}-{name_of(self._obj)}-{ordinal}"

    def _volumes(self, ordinal: int, pod_volumes: list[Json]) -> list[Json]:
        claim_volumes: list[Json] = [
            {
                "name": name_of(template),
                "persistentVolumeClaim": {"claimName": self._claim_name(template, ordinal)},
            }
            for template in self._claim_templates()
        ]
        names = {name_of(template) for template in self._claim_templates()}
        return [
            *claim_volumes,
            *(volume for volume in pod_volumes if fields(volume).get("name") not in names),
        ]

    # -- pods -------------------------------------------------------------------------------------

    def create(self, pod: Object) -> bool:
        if not self.create_claims(pod):
            return False
        try:
            created = self._client.create(pod)
        except StatusError as error:
            if error.code == 409 or error.is_namespace_terminating:
                return error.code != 409
            self._record_pod_event("Create", pod, error.message)
            return False
        self._record_pod_event("Create", pod, None)
        self.update_claim_owner_refs(created, scaled_down=False)
        return True

    def delete(self, pod: Object) -> bool:
        try:
            self._client.delete(pod)
        except StatusError as error:
            if error.code != 404:
                self._record_pod_event("Delete", pod, error.message)
                return False
        self._record_pod_event("Delete", pod, None)
        return True

    def update_pod(self, pod: Object) -> Object:
        """Updates the identity labels of the pod and the owner references of its claims."""
        self.update_claim_owner_refs(pod, scaled_down=False)
        if labels_of(pod).get(_POD_NAME) == name_of(pod):
            return pod
        ordinal = ordinal_of(self._obj, pod)
        labels: Object = {**labels_of(pod), _POD_NAME: name_of(pod), _POD_INDEX: str(ordinal)}
        meta: Object = {**fields(pod.get("metadata")), "labels": labels}
        try:
            updated = self._client.update({**pod, "metadata": meta})
        except StatusError as error:
            self._record_pod_event("Update", pod, error.message)
            return pod
        self._record_pod_event("Update", pod, None)
        return updated

    def _record_pod_event(self, verb: str, pod: Object, error: str | None) -> None:
        action = f"{verb} Pod {name_of(pod)} in StatefulSet {name_of(self._obj)}"
        if error is None:
            self._event("Normal", f"Successful{verb}", f"{action} successful")
        else:
            self._event("Warning", f"Failed{verb}", f"{action} failed error: {error}")

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)

    # -- claims -----------------------------------------------------------------------------------

    def create_claims(self, pod: Object) -> bool:
        ordinal = ordinal_of(self._obj, pod)
        succeeded = True
        for template in self._claim_templates():
            name = self._claim_name(template, ordinal)
            existing = self._client.get(CLAIMS, namespace_of(self._obj), name)
            if existing is not None:
                if is_terminating(existing):
                    succeeded = False
                    self._record_pod_event("Create", pod, f"pvc {name} is being deleted")
                continue
            error = self._create_claim(template, name)
            message = f"Create Claim {name} Pod {name_of(pod)} in StatefulSet {name_of(self._obj)} success"
            if error is None:
                self._event("Normal", "SuccessfulCreate", message)
                continue
            succeeded = False
            message = f"Create Claim {name} for Pod {name_of(pod)} in StatefulSet {name_of(self._obj)}"
            self._event("Warning", "FailedCreate", f"{message} failed error: {error}")
            self._record_pod_event("Create", pod, f"failed to create PVC {name}: {error}")
        return succeeded

    def _create_claim(self, template: Object, name: str) -> str | None:
        meta = fields(template.get("metadata"))
        labels: Object = {
            **fields(meta.get("labels")),
            **fields(dig(self._obj, "spec", "selector", "matchLabels")),
        }
        claim_meta: Object = {**meta, "name": name, "namespace": namespace_of(self._obj), "labels": labels}
        claim: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": claim_meta,
            "spec": template.get("spec"),
        }
        try:
            self._client.create(claim)
        except StatusError as error:
            return error.message
        return None

    def is_claim_stale(self, pod: Object) -> bool:
        """Is a claim still owned by a former pod of that name? It will be deleted with that pod."""
        if self._retention_policy("whenScaled") == "Retain":
            return False
        ordinal = ordinal_of(self._obj, pod)
        for template in self._claim_templates():
            claim = self._client.get(CLAIMS, namespace_of(self._obj), self._claim_name(template, ordinal))
            for raw in items(dig(claim, "metadata", "ownerReferences")) if claim else ():
                reference = fields(raw)
                if reference.get("kind") == "Pod" and reference.get("name") == name_of(pod):
                    return True
        return False

    def _retention_policy(self, field: str) -> str:
        return text(dig(self._obj, "spec", "persistentVolumeClaimRetentionPolicy", field), "Retain")

    def update_claim_owner_refs(self, pod: Object, *, scaled_down: bool) -> None:
        """Mirrors `updateClaimOwnerRefForSetAndPod`: applies persistentVolumeClaimRetentionPolicy."""
        if not self._claim_templates():
            return
        delete_with_set, delete_on_scale_down = (
            self._retention_policy("whenDeleted") == "Delete",
            self._retention_policy("whenScaled") == "Delete",
        )
        owner: Object | None = None
        if delete_on_scale_down and scaled_down:
            owner = {**pod, "apiVersion": "v1", "kind": "Pod"}
        elif delete_with_set:
            owner = self._obj
        ordinal = ordinal_of(self._obj, pod)
        for template in self._claim_templates():
            claim = self._client.get(CLAIMS, namespace_of(self._obj), self._claim_name(template, ordinal))
            if claim is not None:
                self._set_owner(claim, owner, {uid_of(self._obj), uid_of(pod)})

    def _set_owner(self, claim: Object, owner: Object | None, managed_uids: set[str]) -> None:
        meta = dict(fields(claim.get("metadata")))
        old_references = items(meta.get("ownerReferences"))
        references: list[Json] = [
            reference
            for reference in old_references
            if text(fields(reference).get("uid")) not in managed_uids
        ]
        if owner is not None:
            references.append(owner_reference(owner))
        if references == old_references:
            return
        if references:
            meta["ownerReferences"] = references
        else:
            meta.pop("ownerReferences", None)
        self._client.update({**claim, "metadata": meta})
