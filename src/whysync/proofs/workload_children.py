"""Create the ReplicaSets, ControllerRevisions and Pods of workloads that the facts show without them.

Their number and readiness follow the status of the workload, so that controllers have nothing to create.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.controllers.controller_revisions import REVISION_HASH, data_hash, revision_data
from whysync.kubernetes.controllers.deployment import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    POD_TEMPLATE_HASH,
    REVISION,
    equal_ignore_hash,
    replicas_of,
    resolve_fenceposts,
)
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.kubernetes.controllers.template_hash import template_hash

_MAX_PODS: Final = 100
_JOB_LABEL: Final = "batch.kubernetes.io/controller-uid"
_LONG_AGO: Final = "2000-01-01T00:00:00Z"


class WorkloadChildren:
    """Completes a list of live objects; `healthy` has the keys that Argo CD reports as Healthy."""

    def __init__(self, live: Iterable[Object], *, healthy: frozenset[str]) -> None:
        self._live = [_with_uid(obj, number) for number, obj in enumerate(live)]
        self._healthy = healthy
        self._by_name = {_name(live_object): live_object for live_object in self._live}
        self._live = [self._with_owner_ids(live_object) for live_object in self._live]
        self._adopted: dict[str, int] = {}
        """Number of existing pods that a created ReplicaSet adopted, by its UID."""
        self._children: dict[str, list[int]] = {}
        for number, obj in enumerate(self._live):
            for owner in items(dig(obj, "metadata", "ownerReferences")):
                self._children.setdefault(text(dig(owner, "uid")), []).append(number)

    def completed(self) -> list[Object]:
        created: list[Object] = []
        for obj in list(self._live):
            if not items(dig(obj, "spec", "template", "spec", "containers")):
                continue  # not a workload, or its pod template is missing
            match obj.get("kind"):
                case "Deployment":
                    created += self._deployment_children(obj)
                case "ReplicaSet":
                    if not items(dig(obj, "metadata", "ownerReferences")):
                        created += self._pods(
                            obj, self._owned_objects(obj, "Pod"), *_counts(obj, healthy=self._is_healthy(obj))
                        )
                case "StatefulSet":
                    created += self._stateful_set_children(obj)
                case "DaemonSet":
                    created += self._daemon_set_children(obj)
                case "Job" if not fields(dig(obj, "spec", "selector")):
                    self._add_job_selector(obj)
                case _:
                    pass
        return [*self._live, *created]

    # --- owner references ------------------------------------------------------------------------

    def _with_owner_ids(self, obj: Object) -> Object:
        """Complete owner references: the UID of the live owner, and `controller`."""
        owners = items(dig(obj, "metadata", "ownerReferences"))
        if not owners:
            return obj
        namespace = text(dig(obj, "metadata", "namespace"))
        completed: list[Json] = []
        for raw in owners:
            owner = fields(raw)
            live = self._by_name.get((text(owner.get("kind")), namespace, text(owner.get("name"))), {})
            added: Object = {
                "apiVersion": owner.get("apiVersion") or live.get("apiVersion") or "apps/v1",
                "uid": owner.get("uid") or text(dig(live, "metadata", "uid")) or "elsewhere",
            }
            if len(owners) == 1:
                added["controller"] = owner.get("controller", True)
            completed.append({**owner, **added})
        if completed == owners:
            return obj
        return {**obj, "metadata": {**fields(obj.get("metadata")), "ownerReferences": completed}}

    def _owned_objects(self, obj: Object, kind: str) -> list[Object]:
        numbers = self._children.get(text(dig(obj, "metadata", "uid")), ())
        return [self._live[number] for number in numbers if self._live[number].get("kind") == kind]

    def _is_healthy(self, obj: Object) -> bool:
        return str(ref_of(obj).key) in self._healthy

    # --- Deployments -----------------------------------------------------------------------------

    def _deployment_children(self, obj: Object) -> list[Object]:
        replica_sets = self._owned_objects(obj, "ReplicaSet")
        status = fields(obj.get("status"))
        new = next((found for found in replica_sets if equal_ignore_hash(obj, found)), None)
        created: list[Object] = []
        replicas, ready = _counts(obj, healthy=self._is_healthy(obj))
        rolling = bool(status) and integer(status.get("updatedReplicas")) < integer(status.get("replicas"))
        if new is None and not rolling:
            new = _replica_set(obj, replica_sets, replicas, ready)
            created.append(new)
            for old in replica_sets:
                if integer(dig(old, "spec", "replicas")):
                    self._adopt_pods(old, new)
            return [
                *created,
                *self._pods(new, [], replicas - self._adopted_pods(new), ready - self._adopted_pods(new)),
            ]
        for replica_set in replica_sets:
            pods = self._owned_objects(replica_set, "Pod")
            created += self._pods(replica_set, pods, *_counts(replica_set, healthy=True))
        return created

    def _adopt_pods(self, old: Object, new: Object) -> None:
        """Move the pods of a partial ReplicaSet, whose template cannot be compared, to the new one."""
        number = self._live.index(old)
        spec: Object = {**fields(old.get("spec")), "replicas": 0}
        self._live[number] = {**old, "spec": spec, "status": {"replicas": 0}}
        for pod in self._owned_objects(old, "Pod"):
            at = self._live.index(pod)
            meta = fields(pod.get("metadata"))
            hash = dig(new, "metadata", "labels", POD_TEMPLATE_HASH)
            labels: Object = {**fields(meta.get("labels")), POD_TEMPLATE_HASH: text(hash)}
            owners: list[Json] = [_owner(new)]
            self._live[at] = {**pod, "metadata": {**meta, "labels": labels, "ownerReferences": owners}}
            self._adopted[text(dig(new, "metadata", "uid"))] = self._adopted_pods(new) + 1

    def _adopted_pods(self, new: Object) -> int:
        return self._adopted.get(text(dig(new, "metadata", "uid")), 0)

    def _add_job_selector(self, job: Object) -> None:
        """Add the generated selector to a partial Job, and the matching label to its pods."""
        labels_to_match: Object = {_JOB_LABEL: text(dig(job, "metadata", "uid"))}
        spec: Object = {**fields(job.get("spec")), "selector": {"matchLabels": labels_to_match}}
        pods = self._owned_objects(job, "Pod")
        self._live[self._live.index(job)] = {**job, "spec": spec}
        for pod in pods:
            meta = fields(pod.get("metadata"))
            labels: Object = {**fields(meta.get("labels")), **labels_to_match}
            self._live[self._live.index(pod)] = {**pod, "metadata": {**meta, "labels": labels}}

    # --- StatefulSets and DaemonSets -------------------------------------------------------------

    def _stateful_set_children(self, obj: Object) -> list[Object]:
        status = fields(obj.get("status"))
        revisions = self._owned_objects(obj, "ControllerRevision")
        name = text(status.get("updateRevision"))
        pods = self._owned_objects(obj, "Pod")
        hashes = [text(dig(pod, "metadata", "labels", REVISION_HASH)) for pod in pods]
        name = name or next(filter(None, hashes), "")
        name = name or f"{text(dig(obj, 'metadata', 'name'))}-{data_hash(revision_data(obj), 0)}"
        created: list[Object] = [] if revisions else [_revision(obj, name, name)]
        replicas, ready = _counts(obj, healthy=self._is_healthy(obj))
        existing = {text(dig(pod, "metadata", "name")) for pod in pods}
        ready -= sum(1 for pod in pods if is_ready(pod))
        first = integer(dig(obj, "spec", "ordinals", "start"))
        for number in range(first, first + min(replicas, _MAX_PODS)):
            pod_name = f"{text(dig(obj, 'metadata', 'name'))}-{number}"
            if pod_name not in existing:
                labels: Object = {REVISION_HASH: name, "statefulset.kubernetes.io/pod-name": pod_name,
                                  "apps.kubernetes.io/pod-index": str(number)}  # fmt: skip
                created.append(self._pod(obj, pod_name, labels, ready=ready > 0))
                ready -= 1
        return created

    def _daemon_set_children(self, obj: Object) -> list[Object]:
        revisions = self._owned_objects(obj, "ControllerRevision")
        pods = self._owned_objects(obj, "Pod")
        hashes = [text(dig(pod, "metadata", "labels", REVISION_HASH)) for pod in pods]
        hash = next(filter(None, hashes), "")
        hash = hash or template_hash(fields(dig(obj, "spec", "template")))
        name = f"{text(dig(obj, 'metadata', 'name'))}-{hash}"
        created: list[Object] = [] if revisions else [_revision(obj, name, hash)]
        replicas = min(integer(dig(obj, "status", "desiredNumberScheduled"), 3), _MAX_PODS)
        ready = integer(dig(obj, "status", "numberReady"), replicas if self._is_healthy(obj) else 0)
        ready -= sum(1 for pod in pods if is_ready(pod))
        used = {text(dig(pod, "spec", "nodeName")) for pod in pods}
        free = [name for name in self._nodes(replicas) if name not in used]
        for number, node in enumerate(free[: max(replicas - len(pods), 0)]):
            pod_name = f"{text(dig(obj, 'metadata', 'name'))}-{number:05d}"
            created.append(self._pod(obj, pod_name, {REVISION_HASH: hash}, ready=number < ready, node=node))
        return created

    def _nodes(self, replicas: int) -> list[str]:
        names = [
            text(dig(live_object, "metadata", "name"))
            for live_object in self._live
            if live_object.get("kind") == "Node"
        ]
        return names or [f"node-{number}" for number in range(1, max(replicas, 3) + 1)]

    # --- pods ------------------------------------------------------------------------------------

    def _pods(self, owner: Object, existing: list[Object], replicas: int, ready: int) -> Iterator[Object]:
        alive = [pod for pod in existing if dig(pod, "status", "phase") not in ("Succeeded", "Failed")]
        ready -= sum(1 for pod in alive if is_ready(pod))
        for number in range(min(replicas - len(alive), _MAX_PODS)):
            pod_name = f"{text(dig(owner, 'metadata', 'name'))}-{number:05d}"
            yield self._pod(owner, pod_name, {}, ready=number < ready)

    def _pod(self, owner: Object, name: str, labels: Object, *, ready: bool, node: str = "") -> Object:
        template = fields(dig(owner, "spec", "template"))
        meta = fields(template.get("metadata"))
        spec = fields(template.get("spec"))
        ready_status = "True" if ready else "False"
        conditions: list[Json] = [
            {"type": type, "status": status, "lastTransitionTime": _LONG_AGO}
            for type, status in (
                ("PodScheduled", "True"),
                ("Initialized", "True"),
                ("ContainersReady", ready_status),
                ("Ready", ready_status),
            )
        ]
        statuses: list[Json] = [
            {
                "name": text(dig(container, "name")),
                "image": text(dig(container, "image")),
                "ready": ready,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": _LONG_AGO}},
            }
            for container in items(spec.get("containers"))
        ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **{key: value for key, value in meta.items() if key == "annotations"},
                "name": name,
                "namespace": text(dig(owner, "metadata", "namespace")),
                "uid": f"made-{text(dig(owner, 'metadata', 'uid'))}-{name}",
                "creationTimestamp": _LONG_AGO,
                "labels": {**fields(meta.get("labels")), **labels},
                "ownerReferences": [_owner(owner)],
            },
            "spec": {**spec, "nodeName": node or "node-1"},
            "status": {
                "phase": "Running",
                "conditions": conditions,
                "containerStatuses": statuses,
                "startTime": _LONG_AGO,
            },
        }


def _counts(obj: Object, *, healthy: bool) -> tuple[int, int]:
    """The number of pods, and of ready pods."""
    status = fields(obj.get("status"))
    replicas = replicas_of(obj)
    if not status:
        return replicas, replicas if healthy else 0
    return integer(status.get("replicas"), replicas if healthy else 0), integer(status.get("readyReplicas"))


def _replica_set(deployment: Object, others: list[Object], replicas: int, ready: int) -> Object:
    template = fields(dig(deployment, "spec", "template"))
    hash = template_hash(template)
    name = text(dig(deployment, "metadata", "name"))
    existing = {text(dig(other, "metadata", "name")) for other in others}
    set_name = f"{name}-{hash}"
    if set_name in existing:
        set_name = f"{set_name}x"
    meta = fields(template.get("metadata"))
    labels: Object = {**fields(meta.get("labels")), POD_TEMPLATE_HASH: hash}
    selector = fields(dig(deployment, "spec", "selector"))
    revision = text(dig(deployment, "metadata", "annotations", REVISION)) or "1"
    status: Object = {"replicas": replicas, "observedGeneration": 1}
    if ready:
        status |= {"readyReplicas": ready, "availableReplicas": ready, "fullyLabeledReplicas": replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": set_name,
            "namespace": text(dig(deployment, "metadata", "namespace")),
            "uid": f"made-{text(dig(deployment, 'metadata', 'uid'))}-{hash}",
            "creationTimestamp": _LONG_AGO,
            "generation": 1,
            "labels": labels,
            "annotations": {
                REVISION: revision,
                DESIRED_REPLICAS: str(replicas_of(deployment)),
                MAX_REPLICAS: str(replicas_of(deployment) + resolve_fenceposts(deployment)[0]),
            },
            "ownerReferences": [_owner(deployment)],
        },
        "spec": {
            "replicas": replicas_of(deployment),
            "selector": {
                **selector,
                "matchLabels": {**fields(selector.get("matchLabels")), POD_TEMPLATE_HASH: hash},
            },
            "template": {**template, "metadata": {**meta, "labels": labels}},
        },
        "status": status,
    }


def _revision(owner: Object, name: str, hash: str) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": text(dig(owner, "metadata", "namespace")),
            "uid": f"made-{text(dig(owner, 'metadata', 'uid'))}-{name}",
            "creationTimestamp": _LONG_AGO,
            "labels": {**fields(dig(owner, "spec", "template", "metadata", "labels")), REVISION_HASH: hash},
            "ownerReferences": [_owner(owner)],
        },
        "data": revision_data(owner),
        "revision": 1,
    }


def _owner(obj: Object) -> Object:
    return {
        "apiVersion": text(obj.get("apiVersion")),
        "kind": text(obj.get("kind")),
        "name": text(dig(obj, "metadata", "name")),
        "uid": text(dig(obj, "metadata", "uid")),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _with_uid(obj: Object, number: int) -> Object:
    meta = fields(obj.get("metadata"))
    if meta.get("uid"):
        return obj
    return {**obj, "metadata": {**meta, "uid": f"found-{number}"}}


def _name(obj: Object) -> tuple[str, str, str]:
    meta = fields(obj.get("metadata"))
    return text(obj.get("kind")), text(meta.get("namespace")), text(meta.get("name"))
