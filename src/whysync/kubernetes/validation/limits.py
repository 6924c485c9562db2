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
    container_resource_name,
    is_quota_resource,
    may_overcommit,
    quota_resource_name,
    resource_name,
    resource_value,
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


def quota(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _quota_spec(fields(obj.get("spec")))


def quota_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _quota_spec(fields(new.get("spec")))
    before, after = (items(dig(side, "spec", "scopes")) for side in (old, new))
    if {text(scope) for scope in before} != {text(scope) for scope in after}:
        shown = after if isinstance(dig(new, "spec", "scopes"), list) else None
        yield invalid("spec.scopes", shown, IMMUTABLE)


def limit_range(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    seen: set[str] = set()
    for index, item in enumerate(items(dig(obj, "spec", "limits"))):
        limit, path = fields(item), f"spec.limits[{index}]"
        kind = text(limit.get("type"))
        wrong = tuple(each(f"{path}.type", kind, names.label_key(kind)))
        yield from wrong
        if not wrong and "/" not in kind and kind not in _LIMIT_TYPES:
            yield invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _limit(limit, kind, path)


def limit_range_on_update(_: Object, new: Object) -> Problems:
    yield from limit_range(new)


def _quota_spec(spec: Object) -> Problems:
    hard, scopes = fields(spec.get("hard")), items(spec.get("scopes"))
    for name, value in hard.items():
        yield from quota_resource_name(name, f"spec.hard[{name}]")
        yield from resource_value(name, value, f"spec.hard[{name}]")
    for scope in scopes:
        if text(scope) not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(hard):
            if is_quota_resource(name) and not _applies(text(scope), name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        if all(scope in scopes for scope in pair):
            yield invalid("spec.scopes", scopes, "conflicting scopes")


def _applies(scope: str, resource: str) -> bool:
    if scope in _OF_PODS:
        return resource in _POD_AMOUNTS
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return True


def _limit(limit: Object, kind: str, path: str) -> Problems:
    check = container_resource_name if kind in ("Pod", "Container") else resource_name
    for bound in _BOUNDS:
        amounts = fields(limit.get(bound))
        if kind == "Pod" and bound in ("default", "defaultRequest"):
            if amounts:
                yield forbidden(f"{path}.{bound}", "may not be specified when `type` is 'Pod'")
            continue
        if bound == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            yield from _claims_have_a_bound(limit, path)
        for name in amounts:
            yield from check(name, f"{path}.{bound}[{name}]")
    every = dict.fromkeys(name for bound in _BOUNDS for name in fields(limit.get(bound)))
    for name in every:
        yield from _in_order(limit, name, path, of_pods=kind == "Pod")


def _claims_have_a_bound(limit: Object, path: str) -> Problems:
    if not any("storage" in fields(limit.get(bound)) for bound in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", detail)


def _in_order(limit: Object, name: str, path: str, *, of_pods: bool) -> Problems:
    """min ≤ defaultRequest ≤ default ≤ max; upstream does not always print the value that it blames."""
    least, most = (fields(limit.get(bound)).get(name) for bound in ("min", "max"))
    default, request = (
        None if of_pods else fields(limit.get(bound)).get(name) for bound in ("default", "defaultRequest")
    )
    for bound, shown, small, large, message in (
        ("min", least, least, most, "min value {} is greater than max value {}"),
        ("defaultRequest", request, least, request, "min value {} is greater than default request value {}"),
        ("defaultRequest", request, request, most, "default request value {} is greater than max value {}"),
        (
            "defaultRequest",
            request,
            request,
            default,
            "default request value {} is greater than default limit value {}",
        ),
        ("default", least, least, default, "min value {} is greater than default value {}"),
        ("default", most, default, most, "default value {} is greater than max value {}"),
    ):
        if small is not None and large is not None and _more(small, large):
            detail = message.format(quantity_text(small), quantity_text(large))
            yield invalid(f"{path}.{bound}[{name}]", quantity_text(shown), detail)
    ratio = fields(limit.get("maxLimitRequestRatio")).get(name)
    if ratio is not None and _more(1, ratio):
        detail = f"ratio {quantity_text(ratio)} is less than 1"
        yield invalid(f"{path}.maxLimitRequestRatio[{name}]", quantity_text(ratio), detail)
    if (
        not may_overcommit(name)
        and default is not None
        and request is not None
        and quantity_value(default) != quantity_value(request)
    ):
        default_text, request_text = quantity_text(default), quantity_text(request)
        detail = f"default value {default_text} must equal to defaultRequest value {request_text} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", request_text, detail)


def _more(left: Json, right: Json) -> bool:
    left_value, other = quantity_value(left), quantity_value(right)
    return left_value is not None and other is not None and left_value > other
