"""Requests and limits, and the names of resources. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Collection

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Missing, Object, fields, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    NOT_NEGATIVE,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)

_IN_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_WHOLE = frozenset(
    {
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_IN_QUOTAS = _IN_CONTAINERS | _WHOLE | frozenset(
    {
        "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    }
)  # fmt: skip
_STANDARD = _IN_QUOTAS | {"storage"}
_POD_LEVEL = ("cpu", "hugepages-", "memory")


def container_resources(requirements: Json | Missing, path: str, claims: Collection[str] = ()) -> Problems:
    """`resources` of a container, or the overhead of a pod as its limits."""
    resources = fields(requirements)
    limits, requests = fields(resources.get("limits")), fields(resources.get("requests"))
    if limits or requests:
        for name, value in limits.items():
            yield from container_resource_name(name, f"{path}.limits[{name}]")
            yield from _limit_or_request(name, value, f"{path}.limits[{name}]")
        for name, value in requests.items():
            yield from container_resource_name(name, f"{path}.requests[{name}]")
            yield from _limit_or_request(name, value, f"{path}.requests[{name}]", pages=False)
            yield from _request_against_limit(name, value, limits, path)
            yield from _huge_pages(name, value, f"{path}.requests[{name}]")
        every = {*limits, *requests}
        if any(_is_huge_page(name) for name in every) and not every & {"cpu", "memory"}:
            yield forbidden(path, "HugePages require cpu or memory")
    yield from _claims(items(resources.get("claims")), claims, f"{path}.claims")


def pod_resources(requirements: Json | Missing, path: str) -> Problems:
    """`resources` of a pod, which support fewer resource names."""
    resources = fields(requirements)
    limits = fields(resources.get("limits"))
    for part in ("limits", "requests"):
        for name, value in fields(resources.get(part)).items():
            where = f"{path}.{part}[{name}]"
            unknown = tuple(resource_name(name, where))
            yield from unknown
            if not unknown and not (name in ("cpu", "memory") or _is_huge_page(name)):
                yield unsupported(where, name, _POD_LEVEL)
            yield from resource_value(name, value, where)
            if part == "requests":
                yield from _request_against_limit(name, value, limits, path)


def resource_name(name: str, path: str) -> Problems:
    wrong = tuple(each(path, name, names.label_key(name)))
    yield from wrong
    if not wrong and "/" not in name and name not in _STANDARD and not _is_quota_page(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name(name: str, path: str) -> Problems:
    yield from resource_name(name, path)
    if "/" not in name:
        if name not in _IN_CONTAINERS and not _is_huge_page(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not _is_native(name) and not _is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def quota_resource_name(name: str, path: str) -> Problems:
    yield from resource_name(name, path)
    if "/" not in name and not is_quota_resource(name):
        yield invalid(path, name, "must be a standard resource for quota")


def is_quota_resource(name: str) -> bool:
    return name in _IN_QUOTAS or _is_quota_page(name)


def resource_value(name: str, value: Json, path: str) -> Problems:
    """An amount that is not negative, and whole where only whole ones make sense."""
    worth = quantity_value(value)
    if worth is None:
        return
    if worth < 0:
        yield invalid(path, quantity_text(value), NOT_NEGATIVE)
    if (name in _WHOLE or _is_extended(name)) and worth.denominator != 1:
        yield invalid(path, quantity_text(value), "must be an integer")


def may_overcommit(name: str) -> bool:
    return _is_native(name) and not _is_huge_page(name)


def _limit_or_request(name: str, value: Json, path: str, *, pages: bool = True) -> Problems:
    yield from resource_value(name, value, path)
    if pages:
        yield from _huge_pages(name, value, path)


def _request_against_limit(name: str, value: Json, limits: Object, path: str) -> Problems:
    if name not in limits:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    request, limit = quantity_value(value), quantity_value(limits[name])
    if request is None or limit is None or request == limit:
        return
    limit_text = f"{name} limit of {quantity_text(limits[name])}"
    if not may_overcommit(name):
        yield invalid(f"{path}.requests", quantity_text(value), f"must be equal to {limit_text}")
    elif request > limit:
        yield invalid(f"{path}.requests", quantity_text(value), f"must be less than or equal to {limit_text}")


def _huge_pages(name: str, value: Json, path: str) -> Problems:
    if not _is_huge_page(name):
        return
    size, worth = quantity_value(name.removeprefix("hugepages-")), quantity_value(value)
    if not size or worth is None or size <= 0 or worth % size:
        yield invalid(
            path, quantity_text(value), f"{quantity_text(value)} is not positive integer multiple of {name}"
        )


def _claims(claims: list[Json], known: Collection[str], path: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(claims):
        name, where = text(fields(item).get("name")), f"{path}[{index}]"
        if not name:
            yield required(where)
            continue
        request = text(fields(item).get("request"))
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen:
            yield duplicate(where, name if name in seen else key)
        seen.add(key)
        if name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield not_found(where, name, detail + listed)


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_quota_page(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not any(True for _ in names.label_key(f"requests.{name}"))
