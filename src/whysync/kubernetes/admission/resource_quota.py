"""ResourceQuotas: usage of a new object, and whether the quotas of its namespace allow it.

Mirrors the `ResourceQuota` admission of Kubernetes 1.36 on `status.hard` and `status.used`, as the quota
controller left them; an admitted object is counted at once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, TypeAlias

from whysync.golang.quantity import value_or_zero, written_like
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.managed_fields import Writing, after_update, managed_or_empty, with_managed
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden
from whysync.kubernetes.apiserver.storage import ObjectKey, Store
from whysync.kubernetes.merge.structured import FieldSet, atom_of
from whysync.kubernetes.schema import type_named

_QUOTAS: Final = ("", "resourcequotas")
_COUNTED: Final = frozenset(
    {"configmaps", "secrets", "services", "persistentvolumeclaims", "pods", "replicationcontrollers",
     "resourcequotas"}
)  # fmt: skip
_ATOM: Final = atom_of(type_named("core/v1.ResourceQuota"))
_ZERO: Final = Fraction(0)
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")


Charges: TypeAlias = list[tuple[ObjectKey, Object, Object]]
"""Quotas, and their usage including the object."""


def new_quota_usage(obj: Object, old: Object | None, call: RequestContext, store: Store) -> Charges:
    """The new usage of all quotas in the namespace of the object; raises `Refused` if one is exceeded."""
    resource, namespace = call.resource, call.address.namespace
    name = text(dig(obj, "metadata", "name"))
    charged: Charges = []
    usage = _usage(obj, resource)
    if old is not None:
        old_usage = _usage(old, resource)
        usage = {key: amount - old_usage.get(key, _ZERO) for key, amount in usage.items()}
        usage = {key: amount for key, amount in usage.items() if amount}
    for object_key, quota in store.within(_QUOTAS, namespace):
        hard = fields(dig(quota, "status", "hard"))
        if not _in_scope(obj, resource, quota):
            continue
        limited = {key: amount for key, amount in usage.items() if key in hard}
        title = text(dig(quota, "metadata", "name"))
        if resource.kind == "Pod" and old is None:
            _require_amounts(obj, hard, title, name)
        if not limited:
            continue
        used = fields(dig(quota, "status", "used"))
        exceeded = sorted(
            key
            for key, amount in limited.items()
            if amount > 0 and amount + value_or_zero(used.get(key)) > value_or_zero(hard[key])
        )
        if exceeded:
            requested: Object = {key: written_like(limited[key], hard[key]) for key in exceeded}
            message = (
                f"exceeded quota: {title}, requested: {_listed(exceeded, requested)}, "
                f"used: {_listed(exceeded, used)}, limited: {_listed(exceeded, hard)}"
            )
            raise forbidden(resource.plural, resource.group, name, message)
        new_used: Object = {
            key: written_like(value_or_zero(used.get(key)) + amount, hard[key])
            for key, amount in limited.items()
        }
        charged.append((object_key, quota, {**used, **new_used}))
    return charged


def charge(charges: Charges, store: Store, now: str) -> None:
    """Writes the new usage to the quotas, as the API server does."""
    for object_key, quota, used in charges:
        status: Object = {**fields(quota.get("status")), "used": used}
        new: Object = {**quota, "status": status}
        managed = managed_or_empty(quota)
        if managed.claims:
            new = with_managed(new, after_update(quota, new, managed, _writing(now), _ATOM))
        store.put(object_key, new)


def _writing(now: str) -> Writing:
    return Writing(
        manager="kube-apiserver", subresource="status", api_version="v1", now=now, excluded=FieldSet()
    )


def _listed(keys: list[str], amounts: Object) -> str:
    return ",".join(f"{key}={text(amounts.get(key), '0')}" for key in keys)


def _usage(obj: Object, resource: Resource) -> dict[str, Fraction]:
    single = Fraction(1)
    qualified = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    usage = {f"count/{qualified}": single}
    if not resource.group and resource.plural in _COUNTED:
        usage[resource.plural] = single
    if resource.kind == "Service":
        kind = dig(obj, "spec", "type")
        usage["services.loadbalancers"] = single if kind == "LoadBalancer" else Fraction(0)
        usage["services.nodeports"] = Fraction(
            len(items(dig(obj, "spec", "ports"))) if kind in ("NodePort", "LoadBalancer") else 0
        )
    elif resource.kind == "PersistentVolumeClaim":
        usage["requests.storage"] = value_or_zero(dig_json(obj, "spec", "resources", "requests", "storage"))
    elif resource.kind == "Pod":
        for side in ("requests", "limits"):
            for key, amount in _pod_amounts(obj, side).items():
                usage[f"{side}.{key}"] = amount
                if side == "requests":
                    usage[key] = amount
    return usage


def _pod_amounts(pod: Object, side: str) -> dict[str, Fraction]:
    """The sum over the containers, or the amount of the largest init container if that is more."""
    total: dict[str, Fraction] = {}
    for container in items(dig(pod, "spec", "containers")):
        for key, amount in fields(dig(container, "resources", side)).items():
            total[key] = total.get(key, _ZERO) + value_or_zero(amount)
    for container in items(dig(pod, "spec", "initContainers")):
        for key, amount in fields(dig(container, "resources", side)).items():
            total[key] = max(total.get(key, _ZERO), value_or_zero(amount))
    return total


def _in_scope(obj: Object, resource: Resource, quota: Object) -> bool:
    """Does the quota apply to this object? A quota with scopes applies to some Pods only."""
    requirements = [(text(scope), "Exists", list[Json]()) for scope in items(dig(quota, "spec", "scopes"))]
    for raw in items(dig(quota, "spec", "scopeSelector", "matchExpressions")):
        expression = fields(raw)
        requirements.append(
            (
                text(expression.get("scopeName")),
                text(expression.get("operator")),
                items(expression.get("values")),
            )
        )
    if not requirements:
        return True
    return resource.kind == "Pod" and all(_has_scope(obj, *requirement) for requirement in requirements)


def _has_scope(pod: Object, scope: str, operator: str, values: list[Json]) -> bool:
    has_deadline = isinstance(dig(pod, "spec", "activeDeadlineSeconds"), int)
    has_amounts = any(_pod_amounts(pod, side) for side in ("requests", "limits"))
    match scope:
        case "Terminating":
            return has_deadline
        case "NotTerminating":
            return not has_deadline
        case "BestEffort":
            return not has_amounts
        case "NotBestEffort":
            return has_amounts
        case "PriorityClass":
            name = text(dig(pod, "spec", "priorityClassName"))
            return {
                "In": name in values,
                "NotIn": name not in values,
                "Exists": bool(name),
                "DoesNotExist": not name,
            }.get(operator, False)
        case _:
            return True


def dig_json(obj: Object, *path: str) -> Json:
    value = dig(obj, *path)
    return value if isinstance(value, (str, int, float)) else None


def _require_amounts(obj: Object, hard: Object, title: str, name: str) -> None:
    """Every container must set the amounts that the quota counts."""
    missing: dict[str, list[str]] = {}
    for key in sorted(hard):
        side, _, resource_name = key.partition(".")
        if side not in {"requests", "limits"} or resource_name not in _COMPUTE:
            continue
        for container in items(dig(obj, "spec", "containers")):
            if resource_name not in fields(dig(container, "resources", side)):
                missing.setdefault(key, []).append(text(fields(container).get("name")))
    if missing:
        containers_by_amount = "; ".join(f"{key} for: {','.join(names)}" for key, names in missing.items())
        raise forbidden("pods", "", name, f"failed quota: {title}: must specify {containers_by_amount}")
