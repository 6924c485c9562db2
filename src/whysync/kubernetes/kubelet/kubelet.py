"""The kubelets of all nodes: they take the pods that are bound to a node through their life.

Mirrors the kubelet of Kubernetes 1.36 as the API server sees it: init containers in their order, sidecars,
volumes, deadlines, the way out. What happens to one container is in `runtime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    NODES,
    PODS,
    Client,
    Denied,
    is_leaving,
    name_of,
    namespace_of,
    uid_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.kubelet.container import SYNC, ContainerPlace, ContainerRuntime
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior, Role
from whysync.kubernetes.kubelet.container_status import Container, stamp
from whysync.kubernetes.kubelet.logs import LogBook
from whysync.kubernetes.kubelet.pod_dependencies import (
    CONFIG_MAPS,
    SECRETS,
    lacks_of_volumes,
    lost_pull_secrets,
)
from whysync.kubernetes.kubelet.pod_status import conditions_of, is_sidecar, phase_of
from whysync.kubernetes.kubelet.restore import adopt
from whysync.kubernetes.kubelet.status_writer import PodStatusWriter

_FIRST_MOUNT_WAIT: Final = 0.5
_LONGEST_MOUNT_WAIT: Final = 122.0
_TERMINAL: Final = ("Succeeded", "Failed")
_TOO_LONG: Final = "Pod was active on the node longer than the specified deadline"


@dataclass(slots=True)
class _Pod:
    uid: str
    node: str
    host: str
    address: str
    containers: list[Container]
    since: datetime
    deadline: datetime | None = None
    mount_tries: int = 0
    mounted: bool = False
    over: bool = False
    """Nothing happens to it any more but its deletion."""
    stops_at: datetime | None = None
    reason: str = ""
    adopted: bool = False
    """Its status is not the model's own, and stays as it is until something happens."""
    version: str = ""
    """Of the object that the kubelet itself wrote last."""


class Kubelet(QueueController):
    name = "kubelet"
    main = PODS

    def __init__(self, client: Client, behaviour: ContainerBehavior, logs: LogBook) -> None:
        super().__init__(client)
        self._behaviour = behaviour
        self._logs = logs
        self._runtime = ContainerRuntime(client, behaviour, logs)
        self._writer = PodStatusWriter(client)
        self._pods: dict[Key, _Pod] = {}
        self._wanting: dict[str, dict[Key, None]] = {}
        """Pods that lack a Secret or a ConfigMap, by namespace."""
        self._addresses = 0

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({PODS, SECRETS, CONFIG_MAPS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.place
        if kind != PODS:
            if change.type != "DELETED" and self._wanting.get(namespace):
                self._wake(namespace)
            return
        known = self._pods.get((namespace, name))
        meta = fields(change.obj.get("metadata"))
        if known is not None and change.type != "DELETED" and known.version == meta.get("resourceVersion"):
            return
        if known is not None or change.type == "DELETED" or fields(change.obj.get("spec")).get("nodeName"):
            self.queue.add((namespace, name))

    def _wake(self, namespace: str) -> None:
        """Something came that a pod may have waited for: its next look is not far."""
        soon = self.client.now + timedelta(seconds=SYNC)
        for key in self._wanting.pop(namespace):
            for container in self._pods[key].containers if key in self._pods else ():
                if container.step == "unconfigured" and container.due is not None and container.due > soon:
                    container.due = soon
                    self.queue.add_at(key, soon)

    def gone(self, key: Key) -> None:
        self._pods.pop(key, None)
        self._logs.forget(*key)

    def sync(self, obj: Object) -> None:
        if not dig(obj, "spec", "nodeName"):
            return
        key = (namespace_of(obj), name_of(obj))
        known = self._pods.get(key)
        if known is None or known.uid != uid_of(obj):
            if known is not None:
                self.gone(key)
            known = self._pods[key] = self._met(obj)
        at = ContainerPlace(obj, known.node, known.address)
        if is_leaving(obj):
            self._leave(known, at)
        elif not known.over:
            self._live(known, at)

    # -- meeting ----------------------------------------------------------------------------------

    def _met(self, pod: Object) -> _Pod:
        now = self.client.now
        spec, status = fields(pod.get("spec")), fields(pod.get("status"))
        node = text(spec.get("nodeName"))
        host = self._address_of(node)
        address = text(status.get("podIP")) or (host if spec.get("hostNetwork") is True else self._address())
        containers = [
            _container(fields(raw), "sidecar" if is_sidecar(fields(raw)) else "init")
            for raw in items(spec.get("initContainers"))
        ]
        waits = "PodInitializing" if containers else "ContainerCreating"
        containers.extend(_container(fields(raw), "main") for raw in items(spec.get("containers")))
        for container in containers:
            container.reason = waits
        known = _Pod(uid_of(pod), node, host, address, containers, now)
        limit = spec.get("activeDeadlineSeconds")
        if isinstance(limit, int):
            known.deadline = now + timedelta(seconds=limit)
        if status.get("phase") in _TERMINAL:
            known.over = True
        elif items(status.get("containerStatuses")):
            known.mounted = any("waiting" not in _state(raw) for raw in items(status["containerStatuses"]))
            known.adopted = True
            adopt(containers, pod, self._behaviour, now)
        elif status.get("phase") == "Running":
            known.over = True  # a pod of which nothing else is known runs on as it is
        else:
            self._tell_lost_secrets(pod, node)
        return known

    def _tell_lost_secrets(self, pod: Object, node: str) -> None:
        lost = lost_pull_secrets(pod, self.client.api_server.store.get)
        if lost:
            message = (
                f"Unable to retrieve some image pull secrets ({', '.join(lost)}); "
                "attempting to pull the image may not succeed."
            )
            self.client.event(
                pod, "Warning", "FailedToRetrieveImagePullSecret", message, "kubelet", host=node
            )

    def _address_of(self, node: str) -> str:
        node_object = self.client.get(NODES, "", node)
        for raw in items(dig(node_object, "status", "addresses")):
            if fields(raw).get("type") == "InternalIP":
                return text(fields(raw).get("address"))
        return "172.18.0.2"

    def _address(self) -> str:
        self._addresses += 1
        high, low = divmod(self._addresses, 254)
        return f"10.{244 + high // 256}.{high % 256}.{low + 1}"

    # -- living -----------------------------------------------------------------------------------

    def _live(self, known: _Pod, at: ContainerPlace) -> None:
        now = self.client.now
        if known.deadline is not None and known.deadline <= now:
            self._overdue(known, at)
            return
        if not known.mounted and not self._mount(known, at):
            self._write(known, at, sandbox=False)
            return
        while sum(self._runtime.step(container, at) for container in _active(known.containers)):
            known.adopted = False
        mains = [container for container in known.containers if container.role == "main"]
        if all(main.step == "done" for main in mains) or _broken(known.containers):
            for container in known.containers:
                if container.role == "sidecar":
                    self._runtime.stop(container, at, 0)
            known.over = True
        if not known.adopted:
            self._write(known, at, sandbox=True)
        if any(container.step == "unconfigured" for container in known.containers):
            key = (namespace_of(at.pod), name_of(at.pod))
            self._wanting.setdefault(key[0], {})[key] = None
        dates = [container.due for container in known.containers if container.due is not None]
        if known.deadline is not None and not known.over:
            dates.append(known.deadline)
        if dates and not known.over:
            self.later_at(at.pod, min(dates))

    def _mount(self, known: _Pod, at: ContainerPlace) -> bool:
        lacks = lacks_of_volumes(at.pod, self.client.api_server.store.get)
        if not lacks:
            known.mounted = True
            return True
        for lack in lacks:
            self.client.event(at.pod, "Warning", "FailedMount", lack.message, "kubelet", host=known.node)
        wait = min(_FIRST_MOUNT_WAIT * 2.0 ** min(known.mount_tries, 10), _LONGEST_MOUNT_WAIT)
        known.mount_tries += 1
        self.later(at.pod, wait)
        if known.deadline is not None:
            self.later_at(at.pod, known.deadline)
        return False

    def _overdue(self, known: _Pod, at: ContainerPlace) -> None:
        for container in known.containers:
            self._runtime.stop(container, at, 137)
        known.over, known.reason = True, "DeadlineExceeded"
        self.client.event(at.pod, "Normal", "DeadlineExceeded", _TOO_LONG, "kubelet", host=known.node)
        self._write(known, at, sandbox=False)

    # -- leaving ----------------------------------------------------------------------------------

    def _leave(self, known: _Pod, at: ContainerPlace) -> None:
        now = self.client.now
        if known.stops_at is None:
            grace = integer(dig(at.pod, "metadata", "deletionGracePeriodSeconds"))
            known.stops_at = now
            for container in known.containers:
                if container.step == "running" and not known.over:
                    message = f"Stopping container {container.name}"
                    self.client.event(at.pod, "Normal", "Killing", message, "kubelet",
                        host=known.node, field_path=container.field_path,
                    )  # fmt: skip
                    taken = min(self._behaviour.stop_seconds(at.pod), grace)
                    known.stops_at = now + timedelta(seconds=taken)
        if known.stops_at > now:
            self.later_at(at.pod, known.stops_at)
            return
        held = bool(items(dig(at.pod, "metadata", "finalizers")))
        if held and not known.over:
            for container in known.containers:
                self._runtime.stop(container, at, 143)
            known.over = True
            self._write(known, at, sandbox=False)
        elif not held:
            try:
                self.client.delete(at.pod, grace=0)
            except Denied:
                return  # somebody else was quicker

    # -- telling ----------------------------------------------------------------------------------

    def _write(self, known: _Pod, at: ContainerPlace, *, sandbox: bool) -> None:
        pod, now = at.pod, self.client.stamp()
        statuses = {container.name: container.status(known.uid) for container in known.containers}
        failed = known.reason == "DeadlineExceeded"
        phase = "Failed" if failed else phase_of(pod, statuses, ended=known.over)
        status: Object = {**fields(pod.get("status")), "phase": phase}
        status["conditions"] = conditions_of(
            pod, statuses, phase, sandbox=sandbox and not known.over, now=now
        )
        generation = integer(dig(pod, "metadata", "generation"))
        if generation:
            status["observedGeneration"] = generation
        if failed:
            status["reason"], status["message"] = known.reason, _TOO_LONG
        status.setdefault("startTime", stamp(known.since))
        status.setdefault("hostIP", known.host)
        status.setdefault("hostIPs", [{"ip": known.host}])
        if sandbox:
            status.setdefault("podIP", known.address)
            status.setdefault("podIPs", [{"ip": known.address}])
        inits: list[Json] = [
            statuses[container.name] for container in known.containers if container.role != "main"
        ]
        if inits:
            status["initContainerStatuses"] = inits
        mains: list[Json] = [
            statuses[container.name] for container in known.containers if container.role == "main"
        ]
        status["containerStatuses"] = mains
        written = self._writer.write(pod, status)
        known.version = text(dig(written, "metadata", "resourceVersion"))


def _container(spec: Object, role: Role) -> Container:
    return Container(name=text(spec.get("name")), spec=spec, role=role)


def _state(status: Json) -> Object:
    return fields(fields(status).get("state"))


def _active(containers: list[Container]) -> list[Container]:
    """Containers that may proceed now: init containers one by one, then all; started ones continue."""
    waits = next(
        (
            at
            for at, container in enumerate(containers)
            if container.role != "main" and not container.is_initialized
        ),
        None,
    )
    if waits is None:
        return containers
    return [container for at, container in enumerate(containers) if at <= waits or container.step != "idle"]


def _broken(containers: list[Container]) -> bool:
    """Has an init container failed for good?"""
    return any(
        container.role == "init" and container.step == "done" and container.ended.get("exitCode") != 0
        for container in containers
    )
