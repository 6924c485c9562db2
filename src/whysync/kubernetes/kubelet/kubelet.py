"""The kubelet of all nodes: runs the pods that are bound to a node and writes their status.

Mirrors the kubelet of Kubernetes 1.36 as the API server sees it: init containers in order, sidecars, volumes,
activeDeadlineSeconds, termination. `container_runtime` runs a single container.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    NODES,
    PODS,
    Client,
    StatusError,
    is_terminating,
    name_of,
    namespace_of,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import format_time
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior, Role
from whysync.kubernetes.kubelet.container_runtime import SYNC_SECONDS, ContainerRuntime, PodContext
from whysync.kubernetes.kubelet.container_status import Container
from whysync.kubernetes.kubelet.logs import ContainerLogs
from whysync.kubernetes.kubelet.pod_dependencies import (
    CONFIG_MAPS,
    SECRETS,
    missing_pull_secrets,
    missing_volume_sources,
)
from whysync.kubernetes.kubelet.pod_status import is_sidecar, pod_conditions, pod_phase
from whysync.kubernetes.kubelet.restore import restore_containers
from whysync.kubernetes.kubelet.status_writer import PodStatusWriter

_FIRST_MOUNT_BACKOFF: Final = 0.5
_MAX_MOUNT_BACKOFF: Final = 122.0
_TERMINAL_PHASES: Final = ("Succeeded", "Failed")
_DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


class _PodState(msgspec.Struct):
    uid: str
    node: str
    host_ip: str
    pod_ip: str
    containers: list[Container]
    start_time: datetime
    deadline: datetime | None = None
    mount_attempts: int = 0
    volumes_mounted: bool = False
    finished: bool = False
    """No container will be started or stopped; only deletion remains."""
    stops_at: datetime | None = None
    reason: str = ""
    restored: bool = False
    """The status was loaded, not computed here; it is not rewritten until a container changes."""
    resource_version: str = ""
    """The resourceVersion of the kubelet's own last write, whose event it ignores."""


class Kubelet(QueueController):
    name = "kubelet"
    main = PODS

    def __init__(self, client: Client, behavior: ContainerBehavior, logs: ContainerLogs) -> None:
        super().__init__(client)
        self._behavior = behavior
        self._logs = logs
        self._runtime = ContainerRuntime(client, behavior, logs)
        self._writer = PodStatusWriter(client)
        self._pods: dict[Key, _PodState] = {}
        self._pods_missing_config: dict[str, dict[Key, None]] = {}
        """Pods that lack a Secret or a ConfigMap, by namespace."""
        self._allocated_pod_ips = 0

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({PODS, SECRETS, CONFIG_MAPS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind != PODS:
            if change.type != "DELETED" and self._pods_missing_config.get(namespace):
                self._retry_missing_config(namespace)
            return
        state = self._pods.get((namespace, name))
        meta = fields(change.obj.get("metadata"))
        if (
            state is not None
            and change.type != "DELETED"
            and state.resource_version == meta.get("resourceVersion")
        ):
            return
        if state is not None or change.type == "DELETED" or fields(change.obj.get("spec")).get("nodeName"):
            self.queue.add((namespace, name))

    def _retry_missing_config(self, namespace: str) -> None:
        """Retries containers in CreateContainerConfigError at the next sync: their config may exist now."""
        soon = self.client.now + timedelta(seconds=SYNC_SECONDS)
        for key in self._pods_missing_config.pop(namespace):
            for container in self._pods[key].containers if key in self._pods else ():
                if container.step == "config-error" and container.due is not None and container.due > soon:
                    container.due = soon
                    self.queue.add_at(key, soon)

    def forget(self, key: Key) -> None:
        self._pods.pop(key, None)
        self._logs.forget(*key)

    def sync(self, obj: Object) -> None:
        if not dig(obj, "spec", "nodeName"):
            return
        key = (namespace_of(obj), name_of(obj))
        state = self._pods.get(key)
        if state is None or state.uid != uid_of(obj):
            if state is not None:
                self.forget(key)
            state = self._pods[key] = self._add_pod(obj)
        context = PodContext(obj, state.node, state.pod_ip)
        if is_terminating(obj):
            self._sync_terminating_pod(state, context)
        elif not state.finished:
            self._sync_pod(state, context)

    # -- new pods ---------------------------------------------------------------------------------

    def _add_pod(self, pod: Object) -> _PodState:
        now = self.client.now
        spec, status = fields(pod.get("spec")), fields(pod.get("status"))
        node = text(spec.get("nodeName"))
        host_ip = self._node_ip(node)
        pod_ip = text(status.get("podIP")) or (
            host_ip if spec.get("hostNetwork") is True else self._allocate_pod_ip()
        )
        containers = [
            _container(fields(raw), "sidecar" if is_sidecar(fields(raw)) else "init")
            for raw in items(spec.get("initContainers"))
        ]
        waiting_reason = "PodInitializing" if containers else "ContainerCreating"
        containers.extend(_container(fields(raw), "main") for raw in items(spec.get("containers")))
        for container in containers:
            container.reason = waiting_reason
        state = _PodState(uid_of(pod), node, host_ip, pod_ip, containers, now)
        deadline = spec.get("activeDeadlineSeconds")
        if isinstance(deadline, int):
            state.deadline = now + timedelta(seconds=deadline)
        if status.get("phase") in _TERMINAL_PHASES:
            state.finished = True
        elif items(status.get("containerStatuses")):
            state.volumes_mounted = any(
                "waiting" not in _state(raw) for raw in items(status["containerStatuses"])
            )
            state.restored = True
            restore_containers(containers, pod, self._behavior, now)
        elif status.get("phase") == "Running":
            state.finished = True  # without container statuses, the pod keeps its loaded status
        else:
            self._report_missing_pull_secrets(pod, node)
        return state

    def _report_missing_pull_secrets(self, pod: Object, node: str) -> None:
        missing = missing_pull_secrets(pod, self.client.api_server.store.get)
        if missing:
            message = (
                f"Unable to retrieve some image pull secrets ({', '.join(missing)}); "
                "attempting to pull the image may not succeed."
            )
            self.client.event(
                pod, "Warning", "FailedToRetrieveImagePullSecret", message, "kubelet", host=node
            )

    def _node_ip(self, node: str) -> str:
        node_object = self.client.get(NODES, "", node)
        for raw in items(dig(node_object, "status", "addresses")):
            if fields(raw).get("type") == "InternalIP":
                return text(fields(raw).get("address"))
        return "172.18.0.2"

    def _allocate_pod_ip(self) -> str:
        self._allocated_pod_ips += 1
        high, low = divmod(self._allocated_pod_ips, 254)
        return f"10.{244 + high // 256}.{high % 256}.{low + 1}"

    # -- sync -------------------------------------------------------------------------------------

    def _sync_pod(self, state: _PodState, context: PodContext) -> None:
        now = self.client.now
        if state.deadline is not None and state.deadline <= now:
            self._exceed_active_deadline(state, context)
            return
        if not state.volumes_mounted and not self._mount_volumes(state, context):
            self._write_status(state, context, sandbox=False)
            return
        while sum(
            self._runtime.advance(container, context) for container in _active_containers(state.containers)
        ):
            state.restored = False
        mains = [container for container in state.containers if container.role == "main"]
        if all(main.step == "done" for main in mains) or _init_container_failed(state.containers):
            for container in state.containers:
                if container.role == "sidecar":
                    self._runtime.stop(container, context, 0)
            state.finished = True
        if not state.restored:
            self._write_status(state, context, sandbox=True)
        if any(container.step == "config-error" for container in state.containers):
            key = (namespace_of(context.pod), name_of(context.pod))
            self._pods_missing_config.setdefault(key[0], {})[key] = None
        wakeups = [container.due for container in state.containers if container.due is not None]
        if state.deadline is not None and not state.finished:
            wakeups.append(state.deadline)
        if wakeups and not state.finished:
            self.enqueue_at(context.pod, min(wakeups))

    def _mount_volumes(self, state: _PodState, context: PodContext) -> bool:
        failures = missing_volume_sources(context.pod, self.client.api_server.store.get)
        if not failures:
            state.volumes_mounted = True
            return True
        for message in failures:
            self.client.event(context.pod, "Warning", "FailedMount", message, "kubelet", host=state.node)
        backoff = min(_FIRST_MOUNT_BACKOFF * 2.0 ** min(state.mount_attempts, 10), _MAX_MOUNT_BACKOFF)
        state.mount_attempts += 1
        self.enqueue_after(context.pod, backoff)
        if state.deadline is not None:
            self.enqueue_at(context.pod, state.deadline)
        return False

    def _exceed_active_deadline(self, state: _PodState, context: PodContext) -> None:
        for container in state.containers:
            self._runtime.stop(container, context, 137)
        state.finished, state.reason = True, "DeadlineExceeded"
        self.client.event(
            context.pod, "Normal", "DeadlineExceeded", _DEADLINE_MESSAGE, "kubelet", host=state.node
        )
        self._write_status(state, context, sandbox=False)

    # -- termination ------------------------------------------------------------------------------

    def _sync_terminating_pod(self, state: _PodState, context: PodContext) -> None:
        now = self.client.now
        if state.stops_at is None:
            grace = integer(dig(context.pod, "metadata", "deletionGracePeriodSeconds"))
            state.stops_at = now
            for container in state.containers:
                if container.step == "running" and not state.finished:
                    message = f"Stopping container {container.name}"
                    self.client.event(context.pod, "Normal", "Killing", message, "kubelet",
                        host=state.node, field_path=container.field_path,
                    )  # fmt: skip
                    stop_seconds = min(self._behavior.stop_seconds(context.pod), grace)
                    state.stops_at = now + timedelta(seconds=stop_seconds)
        if state.stops_at > now:
            self.enqueue_at(context.pod, state.stops_at)
            return
        has_finalizers = bool(items(dig(context.pod, "metadata", "finalizers")))
        if has_finalizers and not state.finished:
            for container in state.containers:
                self._runtime.stop(container, context, 143)
            state.finished = True
            self._write_status(state, context, sandbox=False)
        elif not has_finalizers:
            try:
                self.client.delete(context.pod, grace=0)
            except StatusError:
                return  # already deleted

    # -- status -----------------------------------------------------------------------------------

    def _write_status(self, state: _PodState, context: PodContext, *, sandbox: bool) -> None:
        pod, now = context.pod, self.client.stamp()
        statuses = {container.name: container.status(state.uid) for container in state.containers}
        failed = state.reason == "DeadlineExceeded"
        phase = "Failed" if failed else pod_phase(pod, statuses, ended=state.finished)
        status: Object = {**fields(pod.get("status")), "phase": phase}
        status["conditions"] = pod_conditions(
            pod, statuses, phase, sandbox=sandbox and not state.finished, now=now
        )
        generation = integer(dig(pod, "metadata", "generation"))
        if generation:
            status["observedGeneration"] = generation
        if failed:
            status["reason"], status["message"] = state.reason, _DEADLINE_MESSAGE
        status.setdefault("startTime", format_time(state.start_time))
        status.setdefault("hostIP", state.host_ip)
        status.setdefault("hostIPs", [{"ip": state.host_ip}])
        if sandbox:
            status.setdefault("podIP", state.pod_ip)
            status.setdefault("podIPs", [{"ip": state.pod_ip}])
        init_statuses: list[Json] = [
            statuses[container.name] for container in state.containers if container.role != "main"
        ]
        if init_statuses:
            status["initContainerStatuses"] = init_statuses
        status["containerStatuses"] = [
            statuses[container.name] for container in state.containers if container.role == "main"
        ]
        written = self._writer.write(pod, status)
        state.resource_version = text(dig(written, "metadata", "resourceVersion"))


def _container(spec: Object, role: Role) -> Container:
    return Container(name=text(spec.get("name")), spec=spec, role=role)


def _state(status: Json) -> Object:
    return fields(fields(status).get("state"))


def _active_containers(containers: list[Container]) -> list[Container]:
    """Containers that may proceed now: init containers one by one, then all; started ones continue."""
    initializing = next(
        (
            index
            for index, container in enumerate(containers)
            if container.role != "main" and not container.is_initialized
        ),
        None,
    )
    if initializing is None:
        return containers
    return [
        container
        for index, container in enumerate(containers)
        if index <= initializing or container.step != "idle"
    ]


def _init_container_failed(containers: list[Container]) -> bool:
    """Has an init container failed that will not be restarted?"""
    return any(
        container.role == "init" and container.step == "done" and container.terminated.get("exitCode") != 0
        for container in containers
    )
