"""ResourceQuota controller: writes status.hard and status.used, which admission checks."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from whysync.golang.quantity import milli_value, written_like
from whysync.json_tree import Json, Object, dig, fields, items, same
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import CLAIMS, PODS, SERVICES, Client, is_terminating, namespace_of
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind

QUOTAS: Final = ("", "resourcequotas")


class ResourceQuotaController(QueueController):
    name = "resourcequota"
    main = QUOTAS

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._by_namespace: dict[str, dict[Key, None]] = {}

    @property
    def watches(self) -> frozenset[Kind] | None:
        return None  # a quota may count objects of any kind

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind == QUOTAS:
            if change.type == "DELETED":
                self._by_namespace.get(namespace, {}).pop((namespace, name), None)
            else:
                self._by_namespace.setdefault(namespace, {})[namespace, name] = None
                self.queue.add((namespace, name))
        elif namespace in self._by_namespace and _releases_usage(change):
            for key in self._by_namespace[namespace]:
                self.queue.add(key)

    def sync(self, obj: Object) -> None:
        if is_terminating(obj):
            return
        hard = fields(dig(obj, "spec", "hard"))
        used: Object = {
            key: written_like(Fraction(self._usage(key, namespace_of(obj)), 1000), limit)
            for key, limit in sorted(hard.items())
        }
        status = fields(obj.get("status"))
        if not same(fields(status.get("hard")), hard) or not same(fields(status.get("used")), used):
            self.client.update_status(obj, {**status, "hard": hard, "used": used})

    def _usage(self, key: str, namespace: str) -> int:
        """In thousandths."""
        side, _, resource = key.partition(".")
        if key.startswith("count/"):
            plural, _, group = key.removeprefix("count/").partition(".")
            return 1000 * self._count((group, plural), namespace)
        if key == "requests.storage":
            return sum(
                milli_value(_json_or_none(dig(claim, "spec", "resources", "requests", "storage")))
                for claim in self.client.list(CLAIMS, namespace)
            )
        if key in ("services.loadbalancers", "services.nodeports"):
            return 1000 * self._service_usage(namespace, key)
        if side in ("requests", "limits") and resource:
            return self._container_usage(namespace, side, resource)
        if key in ("cpu", "memory", "ephemeral-storage"):
            return self._container_usage(namespace, "requests", key)
        return 1000 * self._count(("", key), namespace)

    def _count(self, kind: Kind, namespace: str) -> int:
        return len(self._pods(namespace) if kind == PODS else self.client.list(kind, namespace))

    def _pods(self, namespace: str) -> list[Object]:
        return [
            pod
            for pod in self.client.list(PODS, namespace)
            if dig(pod, "status", "phase") not in ("Succeeded", "Failed")
        ]

    def _container_usage(self, namespace: str, side: str, resource: str) -> int:
        return sum(
            milli_value(fields(dig(raw, "resources", side)).get(resource))
            for pod in self._pods(namespace)
            for raw in items(dig(pod, "spec", "containers"))
        )

    def _service_usage(self, namespace: str, key: str) -> int:
        total = 0
        for service in self.client.list(SERVICES, namespace):
            service_type = dig(service, "spec", "type")
            if key == "services.loadbalancers":
                total += service_type == "LoadBalancer"
            elif service_type in ("NodePort", "LoadBalancer"):
                total += len(items(dig(service, "spec", "ports")))
        return total

    def forget(self, key: Key) -> None:
        self._by_namespace.get(key[0], {}).pop(key, None)


def _releases_usage(change: Change) -> bool:
    """Does the change release quota? Admission counts created objects itself."""
    return change.type == "DELETED" or dig(change.obj, "status", "phase") in ("Succeeded", "Failed")


def _json_or_none(value: object) -> Json:
    return value if isinstance(value, (str, int, float)) else None
