"""StatefulSet controller: pods with ordinals and their own claims, created and updated in order.

Mirrors `pkg/controller/statefulset`, Kubernetes 1.36 (`MaxUnavailableStatefulSet` is off by default).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Object, dig, fields, integer
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.backoff import Backoff
from whysync.kubernetes.controllers.client import (
    PODS,
    REVISIONS,
    STATEFUL_SETS,
    Client,
    StatusError,
    is_terminating,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.controller_revisions import (
    RevisionHistory,
    data_hash,
    revision_data,
    revision_hash_of,
    template_of_revision,
)
from whysync.kubernetes.controllers.deployment_util import replicas_of
from whysync.kubernetes.controllers.pod_control import (
    claim_objects,
    is_available,
    is_finished,
    is_ready,
    next_available,
    phase_of,
    potential_owners,
)
from whysync.kubernetes.controllers.statefulset_pods import StatefulPodControl, ordinal_of

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
