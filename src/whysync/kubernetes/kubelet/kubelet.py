"""The kubelet of all nodes: runs the pods that are bound to a node and writes their status.

Mirrors the kubelet of Kubernetes 1.36 as the API server sees it: init containers in order, sidecars, volumes,
activeDeadlineSeconds, termination. `container_runtime` runs a single container.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, same, text
from whysync.kubernetes.apiserver.request import UrlPath
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
from whysync.kubernetes.controllers.conditions import format_time, parse_time
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.field_ownership import FieldOwnership
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
from whysync.kubernetes.kubelet.pod_status import is_sidecar, pod_conditions, pod_phase, should_restart

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


# Restores the state of containers from the status of a pod that was loaded with the cluster.
#
# A container in CrashLoopBackOff or ImagePullBackOff stays in it, because its cause is unknown here, unless a
# `PodBehavior` matches the container. A container that waits for a Secret or ConfigMap is retried.


_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "RunContainerError"})


def restore_containers(
    containers: list[Container], pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    statuses: dict[str, Object] = {}
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            statuses[text(fields(raw).get("name"))] = fields(raw)
    for container in containers:
        if container.name in statuses:
            _restore(container, statuses[container.name], pod, behavior, now)


def _restore(
    container: Container, status: Object, pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    state = fields(status.get("state"))
    container.restart_count = integer(status.get("restartCount"))
    container.last_terminated = fields(dig(status, "lastState", "terminated"))
    container.ready = status.get("ready") is True
    container.started = status.get("started") is True
    if "running" in state:
        _restore_running(container, fields(state.get("running")), pod, behavior, now)
    elif "terminated" in state:
        container.terminated = fields(state.get("terminated"))
        code = integer(container.terminated.get("exitCode"))
        policy = text(dig(pod, "spec", "restartPolicy"), "Always")
        if container.role == "init" and code == 0:
            container.step = "done"
        elif should_restart(container.spec, policy, code):
            container.step, container.due = "restarting", now + timedelta(seconds=1)
        else:
            container.step = "done"
    else:
        waiting = fields(state.get("waiting"))
        container.reason, container.message = text(waiting.get("reason")), text(waiting.get("message"))
        if container.reason in _STUCK:
            container.step = "crash-loop-back-off"
            if behavior.is_scripted(pod, container.spec, container.role):
                container.due = now + timedelta(seconds=10)


def _restore_running(
    container: Container, running: Object, pod: Object, behavior: ContainerBehavior, now: datetime
) -> None:
    container.step = "running"
    container.started_at = text(running.get("startedAt"))
    container.running_since = container.connected_at = parse_time(container.started_at) or now
    if container.role != "main":
        return
    container.behavior = behavior.of_next_run(pod, container.spec, "main")
    if container.behavior.runs_seconds is not None:
        container.exit_at = container.due = now + timedelta(seconds=container.behavior.runs_seconds)
        container.exit_code, container.exit_reason = container.behavior.exit_code, container.behavior.reason


# Writes pod status, computing managedFields once for all pods with the same shape of status.
#
# The only value specific to a pod in its managedFields is its IP, the key of the list `podIPs`. A placeholder
# replaces it while the managedFields are looked up.


_PLACEHOLDER_IP: Final = "0.0.0.0"


class PodStatusWriter:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._ownership = FieldOwnership()
        self._served = client.api_server.discovery.served(UrlPath("v1", "pods"))

    def write(self, pod: Object, status: Object) -> Object:
        """Write the status unless it is unchanged; returns the stored pod."""
        live = self._client.live(pod)
        old = fields(pod.get("status")) if live is None else fields(live.get("status"))
        if live is None or same(old, status):
            return pod if live is None else live
        meta = fields(live.get("metadata"))
        address = text(status.get("podIP"))
        entries = [
            _with_ip_key(managed_field, _ip_key(address), _ip_key(_PLACEHOLDER_IP))
            for managed_field in items(meta.get("managedFields"))
        ]
        stand_in: Object = {
            **live,
            "metadata": {"managedFields": entries},
            "status": _with_placeholder_ip(old),
        }
        managed = self._ownership.after_status_write(
            stand_in, _with_placeholder_ip(status), self._client.manager, self._client.stamp(), self._served
        )
        if managed:
            managed = [_with_ip_key(entry, _ip_key(_PLACEHOLDER_IP), _ip_key(address)) for entry in managed]
            meta = {**meta, "managedFields": managed}
        new: Object = {**live, "metadata": meta, "status": status}
        return self._client.api_server.store.put(self._client.object_key(live), new)


def _ip_key(address: str) -> str:
    return f'k:{{"ip":"{address}"}}'


def _with_placeholder_ip(status: Object) -> Object:
    addresses = items(status.get("podIPs"))
    if len(addresses) != 1:
        return status
    stand_in: list[Json] = [{"ip": _PLACEHOLDER_IP}]
    return {**status, "podIPs": stand_in}


def _with_ip_key(entry: Json, key: str, new_key: str) -> Json:
    """The entry of managedFields with one key of `podIPs` replaced."""
    entry_fields = fields(entry)
    owned = fields(entry_fields.get("fieldsV1"))
    status = fields(owned.get("f:status"))
    addresses = fields(status.get("f:podIPs"))
    if key not in addresses:
        return entry
    renamed: Object = {(new_key if item == key else item): value for item, value in addresses.items()}
    new_status: Object = {**status, "f:podIPs": renamed}
    return {**entry_fields, "fieldsV1": {**owned, "f:status": new_status}}
