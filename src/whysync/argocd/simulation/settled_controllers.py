"""Controllers of a cluster that was found running: objects at rest stay unchanged until they are written.

A ControllerManager would look at every object, and create a ReplicaSet for each Deployment that the facts
have without one. Here only objects in motion are looked at from the start.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager

_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"})
_COUNTED: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
_ALWAYS: Final = frozenset({"HorizontalPodAutoscaler", "Namespace", "Node", "ServiceAccount"})


class SettledControllerManager(ControllerManager):
    def __init__(self, api_server: ApiServer, behavior: Behavior | None = None, *, nodes: int = 3) -> None:
        super().__init__(api_server, behavior, nodes=nodes)
        journal = self.api_server.store.journal
        for change in journal:
            watching = self._by_kind.get(change.place[0], ()) if is_in_motion(change.obj) else ()
            for controller in (*watching, *self._all):
                controller.on_event(change)
        self._seen_changes = len(journal)


def is_in_motion(obj: Object) -> bool:
    """Would a controller do something about it though nothing else happens?"""
    kind = text(obj.get("kind"))
    meta, status = fields(obj.get("metadata")), fields(obj.get("status"))
    if kind in _ALWAYS or meta.get("deletionTimestamp"):
        return True
    if kind == "Pod":
        return _pod_moves(status)
    if kind == "Job":
        done = any(
            dig(condition, "status") == "True" and dig(condition, "type") in ("Complete", "Failed")
            for condition in items(status.get("conditions"))
        )
        return not done or "ttlSecondsAfterFinished" in fields(obj.get("spec"))
    if kind == "PersistentVolumeClaim":
        return status.get("phase") != "Bound"
    if kind == "ResourceQuota":
        return not status.get("hard")  # nobody has counted yet, and until then it limits nothing
    if kind in _COUNTED:
        if not items(dig(obj, "spec", "template", "spec", "containers")):
            return False  # cut too short to run
        if any(
            dig(condition, "type") == "ReplicaFailure" and dig(condition, "status") == "True"
            for condition in items(status.get("conditions"))
        ):
            return True  # pods that could not be made are tried again
        return not status or integer(status.get("observedGeneration")) < integer(meta.get("generation"))
    return False


def _pod_moves(status: Object) -> bool:
    """It is on its way up, or waits for something; one that fails again and again is as it is."""
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
    runs = not mains or all("running" in fields(main.get("state")) for main in mains)
    return status.get("phase") != "Running" or not runs
