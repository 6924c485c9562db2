"""Addresses from outside: load balancers of Services, and the controller of Ingresses."""

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
    """Gives an address some time after an object first on_requested one."""

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
        """It was asked for an address for the first time."""

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
        has = bool(items(dig(obj, "status", "loadBalancer", "ingress")))
        if is_terminating(obj):
            return
        if dig(obj, "spec", "type") != "LoadBalancer":
            if has:
                self.client.update_status(obj, {**fields(obj.get("status")), "loadBalancer": {}})
            self._assign_at.pop((namespace_of(obj), name_of(obj)), None)
            return
        if has or not self.is_due(obj):
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
    """Serves the Ingresses of every class that there is; where there are none at all, simply every one.

    As ingress-nginx does unless told otherwise, it leaves alone what names no class.
    """

    name = "ingress"
    main = INGRESSES
    dependents = frozenset({INGRESS_CLASSES})

    def keys_of(self, change: Change) -> Iterable[Key]:
        if change.place[0] == INGRESS_CLASSES:
            return [(namespace_of(ingress), name_of(ingress)) for ingress in self.client.list(INGRESSES)]
        return super().keys_of(change)

    def sync(self, obj: Object) -> None:
        has = items(dig(obj, "status", "loadBalancer", "ingress"))
        if is_terminating(obj) or has or not self._is_served(obj) or not self.is_due(obj):
            return
        self.assign(obj, _INGRESS_ADDRESS)

    def _is_served(self, obj: Object) -> bool:
        classes = {name_of(ingress_class) for ingress_class in self.client.list(INGRESS_CLASSES)}
        old = dig(obj, "metadata", "annotations", "kubernetes.io/ingress.class")
        return not classes or (text(dig(obj, "spec", "ingressClassName")) or text(old)) in classes

    def on_requested(self, obj: Object) -> None:
        self.client.event(obj, "Normal", "Sync", "Scheduled for sync", "nginx-ingress-controller")
