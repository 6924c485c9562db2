"""The kubelet of Pods whose behavior no stage of kwok can express: calls, probes, memory, users of images.

The status of such a Pod is what the model's kubelet writes when it runs the same Pod for some minutes, with
the Services and configuration that the real cluster has now.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

from tools.real_cluster.client import ApiServerClient
from tools.real_cluster.running import ApiServer
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer as ModelApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager, all_controllers
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.timeline import Timeline
from whysync.lab.player import ScenarioRun

_RUNS_FOR: Final = timedelta(minutes=10)
_SECONDS_BETWEEN: Final = 2.0
_READ: Final = (
    "/api/v1/services",
    "/api/v1/endpoints",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/nodes",
)
_LACKS_CONFIGURATION: Final = ("CreateContainerConfigError", "ContainerCreating")
_TERMINAL: Final = ("Succeeded", "Failed")


class SimulatedKubelet:
    """Writes the status of the Pods that the behaviors match, or of all Pods."""

    def __init__(
        self, behaviors: tuple[PodBehavior, ...], server: ApiServer, *, all_pods: bool = False
    ) -> None:
        self._behaviors, self._all_pods = behaviors, all_pods
        self._client: ApiServerClient = server.another_client()
        self._due = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._due:
            return
        for pod in listed(self._client, "/api/v1/pods"):
            if _runs(pod) and (self._all_pods or self._is_scripted(pod)):
                self._write_status(pod)
        self._due = time.monotonic() + _SECONDS_BETWEEN

    def close(self) -> None:
        self._client.close()

    def _is_scripted(self, pod: Object) -> bool:
        behavior = ContainerBehavior(self._behaviors)
        return any(
            behavior.is_scripted(pod, fields(container), "main")
            for container in items(dig(pod, "spec", "containers"))
        )

    def _write_status(self, pod: Object) -> None:
        model = simulated(pod, self._behaviors, self._client).api_server
        space, name = text(dig(pod, "metadata", "namespace")), text(dig(pod, "metadata", "name"))
        after = model.store.get((("", "pods"), space, name))
        status = fields((after or {}).get("status"))
        if not status or same(_without_times(status), _without_times(fields(pod.get("status")))):
            return
        path = f"/api/v1/namespaces/{space}"
        for _, event in model.store.within(("", "events"), space):
            body = copy_object(event)
            fields(body["metadata"]).pop("resourceVersion", None)
            fields(body["metadata"]).pop("managedFields", None)
            self._client.send(Request(verb="create", path=f"{path}/events", body=body, manager="kubelet"))
        self._client.send(
            Request(
                verb="merge-patch",
                path=f"{path}/pods/{name}/status",
                body={"status": status},
                manager="kubelet",
            )
        )


def lacks_configuration(run: ScenarioRun) -> bool:
    """Is there a Pod at the end that waits for a Secret or a ConfigMap? kwok starts it without."""
    return any(
        dig(container, "state", "waiting", "reason") in _LACKS_CONFIGURATION
        for _, pod in run.api_server.store.within(("", "pods"))
        for container in items(dig(pod, "status", "containerStatuses"))
    )


def _runs(pod: Object) -> bool:
    """Is the Pod on a node, and neither completed nor being deleted?"""
    return (
        bool(dig(pod, "spec", "nodeName"))
        and not dig(pod, "metadata", "deletionTimestamp")
        and dig(pod, "status", "phase") not in _TERMINAL
    )


def simulated(pod: Object, behaviors: tuple[PodBehavior, ...], client: ApiServerClient) -> ControllerManager:
    """A model in which a kubelet has run the Pod for some minutes; they end now."""
    model = ModelApiServer(Clock(datetime.now(UTC).replace(microsecond=0) - _RUNS_FOR))
    fresh = copy_object(pod)
    fields(fresh["metadata"]).pop("ownerReferences", None)
    fresh["status"] = {"phase": "Pending"}
    model.load([obj for path in _READ for obj in listed(client, path)])
    model.load([fresh])
    controllers = all_controllers(model, Behavior()).controllers
    others = frozenset(controller.name for controller in controllers if controller.name != "kubelet")
    manager = ControllerManager(model, Behavior(pods=behaviors, stopped=others), nodes=0)
    Timeline(model.clock, [manager]).run(_RUNS_FOR)
    return manager


def listed(client: ApiServerClient, path: str) -> list[Object]:
    answer = client.send(Request(verb="list", path=path))
    body = answer.body or {}
    kind = text(body.get("kind")).removesuffix("List")
    return [{"apiVersion": "v1", "kind": kind, **fields(item)} for item in items(body.get("items"))]


def _without_times(status: Object) -> Object:
    """What decides whether two statuses are the same: phase, and the state of the containers."""
    containers: list[Json] = [
        {
            "name": text(dig(container, "name")),
            "ready": dig(container, "ready") is True,
            "state": next(iter(fields(dig(container, "state"))), ""),
            "reason": text(dig(container, "state", "waiting", "reason")),
        }
        for container in items(status.get("containerStatuses"))
    ]
    return {"phase": status.get("phase"), "containers": containers}
