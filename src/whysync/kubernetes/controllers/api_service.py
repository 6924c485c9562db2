"""APIService availability: whether the Service of an aggregated API has ready endpoints.

Mirrors `AvailableConditionController` of kube-aggregator, Kubernetes 1.36; differs: an endpoint that is ready
answers the discovery request. An APIService whose condition comes from the facts is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import SERVICES, Client, is_terminating, name_of
from whysync.kubernetes.controllers.conditions import condition, conditions_of, set_condition
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.endpoints import ENDPOINTS
from whysync.kubernetes.controllers.object_index import Kind

API_SERVICES: Final = ("apiregistration.k8s.io", "apiservices")
_DEFAULT_PORT: Final = 443


class _Availability(NamedTuple):
    status: str
    reason: str
    message: str


class ApiServiceController(QueueController):
    name = "apiservice-availability"
    main = API_SERVICES

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._written: set[str] = set()

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({API_SERVICES, SERVICES, ENDPOINTS})

    def keys_of(self, change: Change) -> Iterable[Key]:
        kind, namespace, name = change.object_key
        if kind == API_SERVICES:
            return [("", name)]
        return [
            ("", name_of(api_service))
            for api_service in self.client.list(API_SERVICES)
            if dig(api_service, "spec", "service", "namespace") == namespace
            and dig(api_service, "spec", "service", "name") == name
        ]

    def forget(self, key: Key) -> None:
        self._written.discard(key[1])

    def sync(self, obj: Object) -> None:
        name = name_of(obj)
        known = condition(conditions_of(obj), "Available")
        if is_terminating(obj) or (known and name not in self._written):
            return
        found = self._availability(fields(dig(obj, "spec", "service")))
        self._written.add(name)
        if (known.get("status"), known.get("reason")) == found[:2]:
            return
        new: Object = {"type": "Available", "lastTransitionTime": self.client.stamp(), **found._asdict()}
        status: Object = {**fields(obj.get("status")), "conditions": set_condition(conditions_of(obj), new)}
        self.client.update_status(obj, status)

    def _availability(self, target: Object) -> _Availability:
        if not target:
            return _Availability("True", "Local", "Local APIServices are always available")
        namespace, name = text(target.get("namespace")), text(target.get("name"))
        described = f'service/{name} in "{namespace}"'
        service = self.client.get(SERVICES, namespace, name)
        if service is None:
            return _Availability("False", "ServiceNotFound", f"{described} is not present")
        if dig(service, "spec", "type") == "ClusterIP":
            number = integer(target.get("port")) or _DEFAULT_PORT
            ports = [fields(port) for port in items(dig(service, "spec", "ports"))]
            port = next((port for port in ports if port.get("port") == number), None)
            if port is None:
                message = f"{described} is not listening on port {number}"
                return _Availability("False", "ServicePortError", message)
            if not self._has_address(namespace, name, text(port.get("name"))):
                message = (
                    f'endpoints for {described} have no addresses with port name "{text(port.get("name"))}"'
                )
                return _Availability("False", "MissingEndpoints", message)
        return _Availability("True", "Passed", "all checks passed")

    def _has_address(self, namespace: str, name: str, port: str) -> bool:
        endpoints = self.client.get(ENDPOINTS, namespace, name) or {}
        return any(
            items(dig(subset, "addresses"))
            and any(text(dig(listed, "name")) == port for listed in items(dig(subset, "ports")))
            for subset in items(endpoints.get("subsets"))
        )
