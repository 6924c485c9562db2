"""Controllers of a cluster that is loaded from facts: settled objects stay unchanged until they are written.

A ControllerManager would reconcile every object, and create a ReplicaSet for each Deployment for which the
facts lack it. Here only unsettled objects are reconciled from the start.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager

_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"})
_WORKLOADS: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
_ALWAYS_UNSETTLED: Final = frozenset({"HorizontalPodAutoscaler", "Namespace", "Node", "ServiceAccount"})


class SettledControllerManager(ControllerManager):
    def __init__(self, api_server: ApiServer, behavior: Behavior | None = None, *, nodes: int = 3) -> None:
        super().__init__(api_server, behavior, nodes=nodes)
        journal = self.api_server.store.journal
        for change in journal:
            watching = self._by_kind.get(change.place[0], ()) if is_unsettled(change.obj) else ()
            for controller in (*watching, *self._watching_all):
                controller.on_event(change)
        self._seen_changes = len(journal)


def is_unsettled(obj: Object) -> bool:
    """Would a controller write the object or its children even if nothing else changes?"""
    kind = text(obj.get("kind"))
    meta, status = fields(obj.get("metadata")), fields(obj.get("status"))
    if kind in _ALWAYS_UNSETTLED or meta.get("deletionTimestamp"):
        return True
    if kind == "Pod":
        return _is_pod_unsettled(status)
    if kind == "Job":
        done = any(
            dig(condition, "status") == "True" and dig(condition, "type") in ("Complete", "Failed")
            for condition in items(status.get("conditions"))
        )
        return not done or "ttlSecondsAfterFinished" in fields(obj.get("spec"))
    if kind == "PersistentVolumeClaim":
        return status.get("phase") != "Bound"
    if kind == "ResourceQuota":
        return not status.get("hard")  # not counted yet; until then it limits nothing
    if kind in _WORKLOADS:
        if not items(dig(obj, "spec", "template", "spec", "containers")):
            return False  # truncated facts
        if any(
            dig(condition, "type") == "ReplicaFailure" and dig(condition, "status") == "True"
            for condition in items(status.get("conditions"))
        ):
            return True  # the controller retries Pods that it could not create
        return not status or integer(status.get("observedGeneration")) < integer(meta.get("generation"))
    return False


def _is_pod_unsettled(status: Object) -> bool:
    """Is the Pod starting or waiting? A Pod in a crash or pull loop counts as settled."""
    if status.get("phase") in ("Succeeded", "Failed"):
        return False
    states = [
        fields(container_status)
        for group in ("initContainerStatuses", "containerStatuses")
        for container_status in items(status.get(group))
    ]
    if any(text(dig(state, "state", "waiting", "reason")) in _STUCK for state in states):
        return False
    mains = [fields(container_status) for container_status in items(status.get("containerStatuses"))]
    all_running = not mains or all("running" in fields(main.get("state")) for main in mains)
    return status.get("phase") != "Running" or not all_running
