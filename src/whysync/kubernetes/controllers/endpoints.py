"""Endpoints and EndpointSlice controllers: the addresses of the pods that a Service selects.

Mirrors the endpoint and endpoint slice controllers of Kubernetes 1.36 for IPv4, without topology hints.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from whysync.json_tree import Json, Object, dig, fields, integer, items, same, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    PODS,
    SERVICES,
    Client,
    StatusError,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.controllers.service_pods import PodSummary, ServicePods, pod_summary

ENDPOINTS: Final = ("", "endpoints")
SLICES: Final = ("discovery.k8s.io", "endpointslices")
_MAX_ENDPOINTS_PER_SLICE: Final = 100
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"

_Ports = tuple[tuple[str, int, str, str], ...]
"""Name, number, protocol and application protocol of each."""


class _Endpoint(NamedTuple):
    name: str
    uid: str
    pod: PodSummary
    ready: bool


class EndpointsController(QueueController):
    name = "endpoint"
    main = SERVICES

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._pods = ServicePods()

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({SERVICES, PODS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        key = (namespace, name)
        if kind == SERVICES:
            is_deleted = change.type == "DELETED"
            self._pods.set_service(key, {} if is_deleted else fields(dig(change.obj, "spec", "selector")))
            self.queue.add(key)
        else:
            summary = None if change.type == "DELETED" else pod_summary(change.obj)
            for service in self._pods.update_pod(key, summary):
                self.queue.add(service)

    def forget(self, key: Key) -> None:
        existing = self.client.get(ENDPOINTS, *key)
        if existing is not None and not is_terminating(existing):
            self._delete(existing)

    def sync(self, obj: Object) -> None:
        selector = fields(dig(obj, "spec", "selector"))
        if not selector or dig(obj, "spec", "type") == "ExternalName" or is_terminating(obj):
            return
        by_ports = self._endpoints_by_ports(obj)
        self._write_endpoints(obj, by_ports)
        self._write_slices(obj, by_ports)

    def _endpoints_by_ports(self, service: Object) -> dict[_Ports, list[_Endpoint]]:
        """The pods of the Service, grouped by the ports at which they are reached."""
        namespace = namespace_of(service)
        publish_not_ready = dig(service, "spec", "publishNotReadyAddresses") is True
        endpoints: dict[_Ports, list[_Endpoint]] = {}
        for name in self._pods.selected_pods((namespace, name_of(service))):
            pod = self._pods.pod((namespace, name))
            obj = self.client.get(PODS, namespace, name)
            if obj is None or not pod.ip or pod.finished:
                continue
            ports = _ports(service, obj)
            if ports is not None:
                ready = (pod.ready and not pod.terminating) or publish_not_ready
                endpoints.setdefault(ports, []).append(_Endpoint(name, uid_of(obj), pod, ready))
        return dict(sorted(endpoints.items()))

    # -- Endpoints --------------------------------------------------------------------------------

    def _write_endpoints(self, service: Object, by_ports: dict[_Ports, list[_Endpoint]]) -> None:
        subsets: list[Json] = []
        for ports, endpoints_of_ports in by_ports.items():
            subset: Object = {}
            ordered = sorted(endpoints_of_ports, key=lambda end: end.pod.ip)
            for key, ready in (("addresses", True), ("notReadyAddresses", False)):
                addresses: list[Json] = [
                    _endpoint_address(end, namespace_of(service))
                    for end in ordered
                    if end.ready is ready and (ready or not end.pod.terminating)
                ]
                if addresses:
                    subset[key] = addresses
            if not subset:
                continue
            port_entries: list[Json] = [_legacy_port(*port) for port in ports]
            subset["ports"] = port_entries
            subsets.append(subset)
        existing = self.client.get(ENDPOINTS, namespace_of(service), name_of(service))
        if existing is None:
            meta: Object = {
                "name": name_of(service),
                "namespace": namespace_of(service),
                "labels": {
                    **labels_of(service),
                    "endpoints.kubernetes.io/managed-by": "endpoint-controller",
                },
            }
            new_endpoints: Object = {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": meta,
                "subsets": subsets,
            }
            self._create(new_endpoints)
        elif not same(items(existing.get("subsets")), subsets):
            self._update({**existing, "subsets": subsets})

    # -- EndpointSlices ---------------------------------------------------------------------------

    def _write_slices(self, service: Object, by_ports: dict[_Ports, list[_Endpoint]]) -> None:
        desired: list[tuple[list[Json], list[Json]]] = []
        for ports, endpoints_of_ports in by_ports.items():
            port_entries: list[Json] = [_slice_port(*port) for port in ports]
            for first in range(0, len(endpoints_of_ports), _MAX_ENDPOINTS_PER_SLICE):
                chunk = endpoints_of_ports[first : first + _MAX_ENDPOINTS_PER_SLICE]
                slice_endpoints: list[Json] = [_slice_endpoint(end, namespace_of(service)) for end in chunk]
                desired.append((port_entries, slice_endpoints))
        if not desired:
            desired.append(([_slice_port(*port) for port in _ports_without_pods(service)], []))
        existing = self.client.owned(SLICES, service)
        for index, (slice_ports, endpoints) in enumerate(desired):
            if index < len(existing):
                old = existing[index]
                if not same(items(old.get("endpoints")), endpoints) or not same(
                    items(old.get("ports")), slice_ports
                ):
                    self._update({**old, "endpoints": endpoints, "ports": slice_ports})
            else:
                self._create(_slice(service, endpoints, slice_ports))
        for extra in existing[len(desired) :]:
            self._delete(extra)

    def _create(self, obj: Object) -> None:
        try:
            self.client.create(obj)
        except StatusError:
            return  # the namespace is terminating, or the object exists already

    def _update(self, obj: Object) -> None:
        try:
            self.client.update(obj)
        except StatusError:
            return

    def _delete(self, obj: Object) -> None:
        try:
            self.client.delete(obj)
        except StatusError:
            return


def _ports(service: Object, pod: Object) -> _Ports | None:
    """The target ports of the Service in a pod; `None` if the pod has none of them."""
    service_ports = items(dig(service, "spec", "ports"))
    ports: list[tuple[str, int, str, str]] = []
    for raw in service_ports:
        port = fields(raw)
        protocol = text(port.get("protocol"), "TCP")
        target = port.get("targetPort")
        number = _named_port(pod, target, protocol) if isinstance(target, str) else integer(target)
        number = number or (integer(port.get("port")) if target in (None, "", 0) else 0)
        if number:
            ports.append((text(port.get("name")), number, protocol, text(port.get("appProtocol"))))
    return tuple(ports) if ports or not service_ports else None


def _ports_without_pods(service: Object) -> _Ports:
    return _ports(service, {}) or ()


def _named_port(pod: Object, name: str, protocol: str) -> int:
    for raw in items(dig(pod, "spec", "containers")):
        for port in items(fields(raw).get("ports")):
            container_port = fields(port)
            if container_port.get("name") == name and text(container_port.get("protocol"), "TCP") == protocol:
                return integer(container_port.get("containerPort"))
    return 0


def _target_ref(end: _Endpoint, namespace: str) -> Object:
    return {"kind": "Pod", "namespace": namespace, "name": end.name, "uid": end.uid}


def _endpoint_address(end: _Endpoint, namespace: str) -> Object:
    return {"ip": end.pod.ip, "nodeName": end.pod.node, "targetRef": _target_ref(end, namespace)}


def _slice_endpoint(end: _Endpoint, namespace: str) -> Object:
    conditions: Object = {"ready": end.ready, "serving": end.pod.ready, "terminating": end.pod.terminating}
    return {
        "addresses": [end.pod.ip],
        "conditions": conditions,
        "nodeName": end.pod.node,
        "targetRef": _target_ref(end, namespace),
    }


def _legacy_port(name: str, number: int, protocol: str, app_protocol: str) -> Object:
    port: Object = {"port": number, "protocol": protocol}
    if name:
        port["name"] = name
    if app_protocol:
        port["appProtocol"] = app_protocol
    return port


def _slice_port(name: str, number: int, protocol: str, app_protocol: str) -> Object:
    return {**_legacy_port("", number, protocol, app_protocol), "name": name}


def _slice(service: Object, endpoints: list[Json], ports: list[Json]) -> Object:
    labels: Object = {
        **labels_of(service),
        "kubernetes.io/service-name": name_of(service),
        _MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    if dig(service, "spec", "clusterIP") == "None":
        labels["service.kubernetes.io/headless"] = ""
    meta: Object = {
        "generateName": f"{name_of(service)}-",
        "namespace": namespace_of(service),
        "labels": labels,
        "ownerReferences": [owner_reference(service)],
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta,
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }
