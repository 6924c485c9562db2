"""The ReplicaSets, revisions and Pods of workloads, where the facts have the workload alone.

As many are made as the workload's own status counts, ready or not, so that nobody begins to make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.controllers.controller_revisions import REVISION_HASH, data_hash, revision_data
from whysync.kubernetes.controllers.deployment_util import (
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

_MOST_PODS: Final = 100
_JOB_LABEL: Final = "batch.kubernetes.io/controller-uid"
_LONG_AGO: Final = "2000-01-01T00:00:00Z"


class WorkloadChildren:
    """Completes a list of live objects; `well` tells of a workload whether Argo CD calls it healthy."""

    def __init__(self, live: Iterable[Object], *, well: frozenset[str], now: datetime) -> None:
        self._live = [_identified(one, number) for number, one in enumerate(live)]
        self._well = well
        self._now = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._named = {_name(live_object): live_object for live_object in self._live}
        self._live = [self._owned(live_object) for live_object in self._live]
        self._adopted: dict[str, int] = {}
        """Pods at hand that a made ReplicaSet took over, by its id."""
        self._children: dict[str, list[int]] = {}
        for number, one in enumerate(self._live):
            for owner in items(dig(one, "metadata", "ownerReferences")):
                self._children.setdefault(text(dig(owner, "uid")), []).append(number)

    def completed(self) -> list[Object]:
        made: list[Object] = []
        for obj in list(self._live):
            if not items(dig(obj, "spec", "template", "spec", "containers")):
                continue  # no workload, or one that was cut too short to run
            match obj.get("kind"):
                case "Deployment":
                    made += self._of_deployment(obj)
                case "ReplicaSet":
                    if not items(dig(obj, "metadata", "ownerReferences")):
                        made += self._pods(
                            obj, self._below(obj, "Pod"), *_counts(obj, well=self._is_well(obj))
                        )
                case "StatefulSet":
                    made += self._of_stateful_set(obj)
                case "DaemonSet":
                    made += self._of_daemon_set(obj)
                case "Job" if not fields(dig(obj, "spec", "selector")):
                    self._select(obj)
                case _:
                    pass
        return [*self._live, *made]

    # --- who belongs to whom ---------------------------------------------------------------------

    def _owned(self, obj: Object) -> Object:
        """Owners by name get the id of the object of that name, and are its controllers."""
        owners = items(dig(obj, "metadata", "ownerReferences"))
        if not owners:
            return obj
        space = text(dig(obj, "metadata", "namespace"))
        told: list[Json] = []
        for raw in owners:
            one = fields(raw)
            named = text(one.get("kind")), space, text(one.get("name"))
            known = self._named.get(named, {})
            more: Object = {
                "apiVersion": one.get("apiVersion") or known.get("apiVersion") or "apps/v1",
                "uid": one.get("uid") or text(dig(known, "metadata", "uid")) or "elsewhere",
            }
            if len(owners) == 1:
                more["controller"] = one.get("controller", True)
            told.append({**one, **more})
        if told == owners:
            return obj
        return {**obj, "metadata": {**fields(obj.get("metadata")), "ownerReferences": told}}

    def _below(self, obj: Object, kind: str) -> list[Object]:
        numbers = self._children.get(text(dig(obj, "metadata", "uid")), ())
        return [self._live[number] for number in numbers if self._live[number].get("kind") == kind]

    def _is_well(self, obj: Object) -> bool:
        return str(ref_of(obj).key) in self._well

    # --- Deployments -----------------------------------------------------------------------------

    def _of_deployment(self, obj: Object) -> list[Object]:
        sets = self._below(obj, "ReplicaSet")
        status = fields(obj.get("status"))
        new = next((one for one in sets if equal_ignore_hash(obj, one)), None)
        made: list[Object] = []
        wanted, ready = _counts(obj, well=self._is_well(obj))
        rolling = bool(status) and integer(status.get("updatedReplicas")) < integer(status.get("replicas"))
        if new is None and not rolling:
            new = _replica_set(obj, sets, wanted, ready)
            made.append(new)
            for one in sets:
                if integer(dig(one, "spec", "replicas")):
                    self._retire(one, new)
            return [*made, *self._pods(new, [], wanted - self._kept(new), ready - self._kept(new))]
        for one in sets:
            made += self._pods(one, self._below(one, "Pod"), *_counts(one, well=True))
        return made

    def _retire(self, old: Object, new: Object) -> None:
        """The newest ReplicaSet at hand is that of the present template, though it was cut: its pods stay."""
        number = self._live.index(old)
        spec: Object = {**fields(old.get("spec")), "replicas": 0}
        self._live[number] = {**old, "spec": spec, "status": {"replicas": 0}}
        for pod in self._below(old, "Pod"):
            at = self._live.index(pod)
            meta = fields(pod.get("metadata"))
            hash = dig(new, "metadata", "labels", POD_TEMPLATE_HASH)
            labels: Object = {**fields(meta.get("labels")), POD_TEMPLATE_HASH: text(hash)}
            owners: list[Json] = [_owner(new)]
            self._live[at] = {**pod, "metadata": {**meta, "labels": labels, "ownerReferences": owners}}
            self._adopted[text(dig(new, "metadata", "uid"))] = self._kept(new) + 1

    def _kept(self, new: Object) -> int:
        return self._adopted.get(text(dig(new, "metadata", "uid")), 0)

    def _select(self, job: Object) -> None:
        """A Job that was cut gets the selector that the server had made for it, its pods the label."""
        chosen: Object = {_JOB_LABEL: text(dig(job, "metadata", "uid"))}
        spec: Object = {**fields(job.get("spec")), "selector": {"matchLabels": chosen}}
        pods = self._below(job, "Pod")
        self._live[self._live.index(job)] = {**job, "spec": spec}
        for pod in pods:
            meta = fields(pod.get("metadata"))
            labels: Object = {**fields(meta.get("labels")), **chosen}
            self._live[self._live.index(pod)] = {**pod, "metadata": {**meta, "labels": labels}}

    # --- the others ------------------------------------------------------------------------------

    def _of_stateful_set(self, obj: Object) -> list[Object]:
        status = fields(obj.get("status"))
        known = self._below(obj, "ControllerRevision")
        name = text(status.get("updateRevision"))
        pods = self._below(obj, "Pod")
        hashes = [text(dig(pod, "metadata", "labels", REVISION_HASH)) for pod in pods]
        name = name or next((one for one in hashes if one), "")
        name = name or f"{text(dig(obj, 'metadata', 'name'))}-{data_hash(revision_data(obj), 0)}"
        made: list[Object] = [] if known else [_revision(obj, name, name)]
        wanted, ready = _counts(obj, well=self._is_well(obj))
        there = {text(dig(pod, "metadata", "name")) for pod in pods}
        ready -= sum(1 for pod in pods if is_ready(pod))
        first = integer(dig(obj, "spec", "ordinals", "start"))
        for number in range(first, first + min(wanted, _MOST_PODS)):
            title = f"{text(dig(obj, 'metadata', 'name'))}-{number}"
            if title not in there:
                labels: Object = {REVISION_HASH: name, "statefulset.kubernetes.io/pod-name": title,
                                  "apps.kubernetes.io/pod-index": str(number)}  # fmt: skip
                made.append(self._pod(obj, title, labels, ready=ready > 0))
                ready -= 1
        return made

    def _of_daemon_set(self, obj: Object) -> list[Object]:
        known = self._below(obj, "ControllerRevision")
        pods = self._below(obj, "Pod")
        hash = next((one for pod in pods if (one := text(dig(pod, "metadata", "labels", REVISION_HASH)))), "")
        hash = hash or template_hash(fields(dig(obj, "spec", "template")))
        name = f"{text(dig(obj, 'metadata', 'name'))}-{hash}"
        made: list[Object] = [] if known else [_revision(obj, name, hash)]
        wanted = min(integer(dig(obj, "status", "desiredNumberScheduled"), 3), _MOST_PODS)
        ready = integer(dig(obj, "status", "numberReady"), wanted if self._is_well(obj) else 0)
        ready -= sum(1 for pod in pods if is_ready(pod))
        taken = {text(dig(pod, "spec", "nodeName")) for pod in pods}
        free = [name for name in self._nodes(wanted) if name not in taken]
        for number, node in enumerate(free[: max(wanted - len(pods), 0)]):
            title = f"{text(dig(obj, 'metadata', 'name'))}-{number:05d}"
            made.append(self._pod(obj, title, {REVISION_HASH: hash}, ready=number < ready, node=node))
        return made

    def _nodes(self, wanted: int) -> list[str]:
        named = [
            text(dig(live_object, "metadata", "name"))
            for live_object in self._live
            if live_object.get("kind") == "Node"
        ]
        return named or [f"node-{number}" for number in range(1, max(wanted, 3) + 1)]

    # --- pods ------------------------------------------------------------------------------------

    def _pods(self, owner: Object, there: list[Object], wanted: int, ready: int) -> Iterator[Object]:
        alive = [pod for pod in there if dig(pod, "status", "phase") not in ("Succeeded", "Failed")]
        ready -= sum(1 for pod in alive if is_ready(pod))
        for number in range(min(wanted - len(alive), _MOST_PODS)):
            title = f"{text(dig(owner, 'metadata', 'name'))}-{number:05d}"
            yield self._pod(owner, title, {}, ready=number < ready)

    def _pod(self, owner: Object, name: str, labels: Object, *, ready: bool, node: str = "") -> Object:
        template = fields(dig(owner, "spec", "template"))
        meta = fields(template.get("metadata"))
        spec = fields(template.get("spec"))
        yes = "True" if ready else "False"
        conditions: list[Json] = [
            {"type": type, "status": status, "lastTransitionTime": _LONG_AGO}
            for type, status in (
                ("PodScheduled", "True"),
                ("Initialized", "True"),
                ("ContainersReady", yes),
                ("Ready", yes),
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


def _counts(obj: Object, *, well: bool) -> tuple[int, int]:
    """How many pods there are, and how many of them are ready."""
    status = fields(obj.get("status"))
    wanted = replicas_of(obj)
    if not status:
        return wanted, wanted if well else 0
    return integer(status.get("replicas"), wanted if well else 0), integer(status.get("readyReplicas"))


def _replica_set(deployment: Object, others: list[Object], wanted: int, ready: int) -> Object:
    template = fields(dig(deployment, "spec", "template"))
    hash = template_hash(template)
    name = text(dig(deployment, "metadata", "name"))
    taken = {text(dig(other, "metadata", "name")) for other in others}
    title = f"{name}-{hash}"
    if title in taken:
        title = f"{title}x"
    meta = fields(template.get("metadata"))
    labels: Object = {**fields(meta.get("labels")), POD_TEMPLATE_HASH: hash}
    selector = fields(dig(deployment, "spec", "selector"))
    revision = text(dig(deployment, "metadata", "annotations", REVISION)) or "1"
    status: Object = {"replicas": wanted, "observedGeneration": 1}
    if ready:
        status |= {"readyReplicas": ready, "availableReplicas": ready, "fullyLabeledReplicas": wanted}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": title,
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


def _identified(obj: Object, number: int) -> Object:
    meta = fields(obj.get("metadata"))
    if meta.get("uid"):
        return obj
    return {**obj, "metadata": {**meta, "uid": f"found-{number}"}}


def _name(obj: Object) -> tuple[str, str, str]:
    meta = fields(obj.get("metadata"))
    return text(obj.get("kind")), text(meta.get("namespace")), text(meta.get("name"))
