"""Service load balancer controller and ingress controller: assign external addresses."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import SERVICES, Client, is_terminating, name_of, namespace_of
from whysync.kubernetes.controllers.controller import Key, QueueController

INGRESSES: Final = ("networking.k8s.io", "ingresses")
INGRESS_CLASSES: Final = ("networking.k8s.io", "ingressclasses")
_INGRESS_ADDRESS: Final = "203.0.113.10"


class _AddressController(QueueController):
    """Assigns an address to an object some time after it was first requested."""

    def __init__(self, client: Client, behavior: Behavior) -> None:
        super().__init__(client)
        self._behavior = behavior
        self._assign_at: dict[Key, datetime] = {}

    def forget(self, key: Key) -> None:
        self._assign_at.pop(key, None)

    def is_due(self, obj: Object) -> bool:
        key = (namespace_of(obj), name_of(obj))
        when = self._assign_at.get(key)
        if when is None:
            when = self.client.now + timedelta(seconds=self._behavior.load_balancer_seconds)
            self._assign_at[key] = when
            self.on_requested(obj)
        if self._behavior.load_balancers == "pending":
            return False
        if when > self.client.now:
            self.enqueue_at(obj, when)
            return False
        return True

    def on_requested(self, obj: Object) -> None:
        """Called when an address is requested for the first time."""

    def assign(self, obj: Object, address: str) -> None:
        balancer: Object = {"ingress": [{"ip": address}]}
        self.client.update_status(obj, {**fields(obj.get("status")), "loadBalancer": balancer})


class ServiceController(_AddressController):
    name = "service-lb"
    main = SERVICES

    def __init__(self, client: Client, behavior: Behavior) -> None:
        super().__init__(client, behavior)
        self._assigned = 0

    def sync(self, obj: Object) -> None:
        has_address = bool(items(dig(obj, "status", "loadBalancer", "ingress")))
        if is_terminating(obj):
            return
        if dig(obj, "spec", "type") != "LoadBalancer":
            if has_address:
                self.client.update_status(obj, {**fields(obj.get("status")), "loadBalancer": {}})
            self._assign_at.pop((namespace_of(obj), name_of(obj)), None)
            return
        if has_address or not self.is_due(obj):
            return
        self._assigned += 1
        balancer: Object = {"ingress": [{"ip": f"203.0.113.{20 + self._assigned % 230}", "ipMode": "VIP"}]}
        self.client.update_status(obj, {**fields(obj.get("status")), "loadBalancer": balancer})
        self.client.event(obj, "Normal", "EnsuredLoadBalancer", "Ensured load balancer", "service-controller")

    def on_requested(self, obj: Object) -> None:
        self.client.event(
            obj, "Normal", "EnsuringLoadBalancer", "Ensuring load balancer", "service-controller"
        )


class IngressController(_AddressController):
    """Serves the Ingresses of all existing IngressClasses, or all Ingresses if there are no classes.

    As ingress-nginx by default, it ignores Ingresses without a class.
    """

    name = "ingress"
    main = INGRESSES
    dependents = frozenset({INGRESS_CLASSES})

    def keys_of(self, change: Change) -> Iterable[Key]:
        if change.object_key[0] == INGRESS_CLASSES:
            return [(namespace_of(ingress), name_of(ingress)) for ingress in self.client.list(INGRESSES)]
        return super().keys_of(change)

    def sync(self, obj: Object) -> None:
        has_address = items(dig(obj, "status", "loadBalancer", "ingress"))
        if is_terminating(obj) or has_address or not self._is_served(obj) or not self.is_due(obj):
            return
        self.assign(obj, _INGRESS_ADDRESS)

    def _is_served(self, obj: Object) -> bool:
        classes = {name_of(ingress_class) for ingress_class in self.client.list(INGRESS_CLASSES)}
        annotation = dig(obj, "metadata", "annotations", "kubernetes.io/ingress.class")
        return not classes or (text(dig(obj, "spec", "ingressClassName")) or text(annotation)) in classes

    def on_requested(self, obj: Object) -> None:
        self.client.event(obj, "Normal", "Sync", "Scheduled for sync", "nginx-ingress-controller")
