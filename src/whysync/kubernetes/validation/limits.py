"""ResourceQuotas and LimitRanges. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
)
from whysync.kubernetes.validation.resources import (
    is_overcommit_allowed,
    is_standard_quota_resource_name,
    validate_container_resource_name,
    validate_resource_name,
    validate_resource_quantity_value,
    validate_resource_quota_resource_name,
)

_OF_PODS = frozenset(
    {"Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}
)
_SCOPES = _OF_PODS | {"BestEffort", "VolumeAttributesClass"}
_POD_AMOUNTS = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_LIMIT_TYPES = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def validate_resource_quota(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_resource_quota_spec(fields(obj.get("spec")))


def validate_resource_quota_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_resource_quota_spec(fields(new.get("spec")))
    old_scopes, new_scopes = (items(dig(quota, "spec", "scopes")) for quota in (old, new))
    if {text(scope) for scope in old_scopes} != {text(scope) for scope in new_scopes}:
        bad_value = new_scopes if isinstance(dig(new, "spec", "scopes"), list) else None
        yield invalid("spec.scopes", bad_value, IMMUTABLE)


def validate_limit_range(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    seen: set[str] = set()
    for index, item in enumerate(items(dig(obj, "spec", "limits"))):
        limit, path = fields(item), f"spec.limits[{index}]"
        kind = text(limit.get("type"))
        errors = tuple(each(f"{path}.type", kind, names.qualified_name(kind)))
        yield from errors
        if not errors and "/" not in kind and kind not in _LIMIT_TYPES:
            yield invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _validate_limit_range_item(limit, kind, path)


def validate_limit_range_update(_: Object, new: Object) -> Problems:
    yield from validate_limit_range(new)


def _validate_resource_quota_spec(spec: Object) -> Problems:
    hard, scopes = fields(spec.get("hard")), items(spec.get("scopes"))
    for name, value in hard.items():
        yield from validate_resource_quota_resource_name(name, f"spec.hard[{name}]")
        yield from validate_resource_quantity_value(name, value, f"spec.hard[{name}]")
    for scope in scopes:
        if text(scope) not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(hard):
            if is_standard_quota_resource_name(name) and not _is_scope_for_resource(text(scope), name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        if all(scope in scopes for scope in pair):
            yield invalid("spec.scopes", scopes, "conflicting scopes")


def _is_scope_for_resource(scope: str, resource: str) -> bool:
    if scope in _OF_PODS:
        return resource in _POD_AMOUNTS
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return True


def _validate_limit_range_item(limit: Object, kind: str, path: str) -> Problems:
    check = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    for bound in _BOUNDS:
        amounts = fields(limit.get(bound))
        if kind == "Pod" and bound in ("default", "defaultRequest"):
            if amounts:
                yield forbidden(f"{path}.{bound}", "may not be specified when `type` is 'Pod'")
            continue
        if bound == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            yield from _validate_storage_bound(limit, path)
        for name in amounts:
            yield from check(name, f"{path}.{bound}[{name}]")
    resource_names = dict.fromkeys(name for bound in _BOUNDS for name in fields(limit.get(bound)))
    for name in resource_names:
        yield from _validate_bounds_in_order(limit, name, path, of_pods=kind == "Pod")


def _validate_storage_bound(limit: Object, path: str) -> Problems:
    if not any("storage" in fields(limit.get(bound)) for bound in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", detail)


def _validate_bounds_in_order(limit: Object, name: str, path: str, *, of_pods: bool) -> Problems:
    """min ≤ defaultRequest ≤ default ≤ max; upstream does not always print the value it reports."""
    minimum, maximum = (fields(limit.get(bound)).get(name) for bound in ("min", "max"))
    default, request = (
        None if of_pods else fields(limit.get(bound)).get(name) for bound in ("default", "defaultRequest")
    )
    for bound, bad_value, small, large, message in (
        ("min", minimum, minimum, maximum, "min value {} is greater than max value {}"),
        (
            "defaultRequest",
            request,
            minimum,
            request,
            "min value {} is greater than default request value {}",
        ),
        (
            "defaultRequest",
            request,
            request,
            maximum,
            "default request value {} is greater than max value {}",
        ),
        (
            "defaultRequest",
            request,
            request,
            default,
            "default request value {} is greater than default limit value {}",
        ),
        ("default", minimum, minimum, default, "min value {} is greater than default value {}"),
        ("default", maximum, default, maximum, "default value {} is greater than max value {}"),
    ):
        if small is not None and large is not None and _is_greater(small, large):
            detail = message.format(quantity_text(small), quantity_text(large))
            yield invalid(f"{path}.{bound}[{name}]", quantity_text(bad_value), detail)
    ratio = fields(limit.get("maxLimitRequestRatio")).get(name)
    if ratio is not None and _is_greater(1, ratio):
        detail = f"ratio {quantity_text(ratio)} is less than 1"
        yield invalid(f"{path}.maxLimitRequestRatio[{name}]", quantity_text(ratio), detail)
    if (
        not is_overcommit_allowed(name)
        and default is not None
        and request is not None
        and quantity_value(default) != quantity_value(request)
    ):
        default_text, request_text = quantity_text(default), quantity_text(request)
        detail = f"default value {default_text} must equal to defaultRequest value {request_text} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", request_text, detail)


def _is_greater(left: Json, right: Json) -> bool:
    left_amount, right_amount = quantity_value(left), quantity_value(right)
    return left_amount is not None and right_amount is not None and left_amount > right_amount
