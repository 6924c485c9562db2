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


def validate_container_resource_requirements(
    requirements: Json | Missing, path: str, claims: Collection[str] = ()
) -> Problems:
    """`resources` of a container, or the overhead of a pod as its limits."""
    resources = fields(requirements)
    limits, requests = fields(resources.get("limits")), fields(resources.get("requests"))
    if limits or requests:
        for name, value in limits.items():
            yield from validate_container_resource_name(name, f"{path}.limits[{name}]")
            yield from _limit_or_request(name, value, f"{path}.limits[{name}]")
        for name, value in requests.items():
            yield from validate_container_resource_name(name, f"{path}.requests[{name}]")
            yield from _limit_or_request(name, value, f"{path}.requests[{name}]", pages=False)
            yield from _validate_request_against_limit(name, value, limits, path)
            yield from _validate_huge_pages(name, value, f"{path}.requests[{name}]")
        resource_names = {*limits, *requests}
        if any(_is_huge_page(name) for name in resource_names) and not resource_names & {"cpu", "memory"}:
            yield forbidden(path, "HugePages require cpu or memory")
    yield from _validate_resource_claims(items(resources.get("claims")), claims, f"{path}.claims")


def validate_pod_resource_requirements(requirements: Json | Missing, path: str) -> Problems:
    """`resources` of a pod, which support fewer resource names."""
    resources = fields(requirements)
    limits = fields(resources.get("limits"))
    for field in ("limits", "requests"):
        for name, value in fields(resources.get(field)).items():
            item_path = f"{path}.{field}[{name}]"
            name_problems = tuple(validate_resource_name(name, item_path))
            yield from name_problems
            if not name_problems and not (name in ("cpu", "memory") or _is_huge_page(name)):
                yield unsupported(item_path, name, _POD_LEVEL)
            yield from validate_resource_quantity_value(name, value, item_path)
            if field == "requests":
                yield from _validate_request_against_limit(name, value, limits, path)


def validate_resource_name(name: str, path: str) -> Problems:
    errors = tuple(each(path, name, names.qualified_name(name)))
    yield from errors
    if not errors and "/" not in name and name not in _STANDARD and not _is_quota_page(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def validate_container_resource_name(name: str, path: str) -> Problems:
    yield from validate_resource_name(name, path)
    if "/" not in name:
        if name not in _IN_CONTAINERS and not _is_huge_page(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not _is_native_resource(name) and not _is_extended_resource_name(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def validate_resource_quota_resource_name(name: str, path: str) -> Problems:
    yield from validate_resource_name(name, path)
    if "/" not in name and not is_standard_quota_resource_name(name):
        yield invalid(path, name, "must be a standard resource for quota")


def is_standard_quota_resource_name(name: str) -> bool:
    return name in _IN_QUOTAS or _is_quota_page(name)


def validate_resource_quantity_value(name: str, value: Json, path: str) -> Problems:
    """A quantity that is not negative, and an integer for resources that are counted."""
    amount = quantity_value(value)
    if amount is None:
        return
    if amount < 0:
        yield invalid(path, quantity_text(value), NOT_NEGATIVE)
    if (name in _WHOLE or _is_extended_resource_name(name)) and amount.denominator != 1:
        yield invalid(path, quantity_text(value), "must be an integer")


def is_overcommit_allowed(name: str) -> bool:
    return _is_native_resource(name) and not _is_huge_page(name)


def _limit_or_request(name: str, value: Json, path: str, *, pages: bool = True) -> Problems:
    yield from validate_resource_quantity_value(name, value, path)
    if pages:
        yield from _validate_huge_pages(name, value, path)


def _validate_request_against_limit(name: str, value: Json, limits: Object, path: str) -> Problems:
    if name not in limits:
        if not is_overcommit_allowed(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    request, limit = quantity_value(value), quantity_value(limits[name])
    if request is None or limit is None or request == limit:
        return
    limit_text = f"{name} limit of {quantity_text(limits[name])}"
    if not is_overcommit_allowed(name):
        yield invalid(f"{path}.requests", quantity_text(value), f"must be equal to {limit_text}")
    elif request > limit:
        yield invalid(f"{path}.requests", quantity_text(value), f"must be less than or equal to {limit_text}")


def _validate_huge_pages(name: str, value: Json, path: str) -> Problems:
    if not _is_huge_page(name):
        return
    size, amount = quantity_value(name.removeprefix("hugepages-")), quantity_value(value)
    if not size or amount is None or size <= 0 or amount % size:
        yield invalid(
            path, quantity_text(value), f"{quantity_text(value)} is not positive integer multiple of {name}"
        )


def _validate_resource_claims(claims: list[Json], claim_names: Collection[str], path: str) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(claims):
        name, item_path = text(fields(item).get("name")), f"{path}[{index}]"
        if not name:
            yield required(item_path)
            continue
        request = text(fields(item).get("request"))
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen:
            yield duplicate(item_path, name if name in seen else key)
        seen.add(key)
        if name not in claim_names:
            detail = "must be one of the names in pod.spec.resourceClaims"
            listed = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
            yield not_found(item_path, name, detail + listed)


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_quota_page(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def _is_native_resource(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended_resource_name(name: str) -> bool:
    if _is_native_resource(name) or name.startswith("requests."):
        return False
    return not any(True for _ in names.qualified_name(f"requests.{name}"))
