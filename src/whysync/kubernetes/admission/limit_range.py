"""LimitRanges: defaults that they set, and limits that they enforce.

Mirrors the `LimitRanger` admission of Kubernetes 1.36. Differs: amounts of a whole Pod are those of its
containers, or of its largest init container; its own `resources` are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from whysync.golang.quantity import value_or_zero, written_like
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden
from whysync.kubernetes.apiserver.storage import Store

_LIMIT_RANGES: Final = ("", "limitranges")
_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_GROUPS: Final = (("containers", "container"), ("initContainers", "init container"))


def with_limits(obj: Object, call: RequestContext, store: Store) -> Object:
    """A new Pod with the default requests and limits of its namespace."""
    if call.resource.kind != "Pod" or call.resource.group:
        return obj
    for _, limit_range in store.within(_LIMIT_RANGES, call.address.namespace):
        obj = _with_defaults(obj, _default_resources(limit_range))
    return obj


def _default_resources(limit_range: Object) -> Object:
    """The default amounts of all container limits."""
    defaults: Object = {"limits": {}, "requests": {}}
    for limit in _limits(limit_range, "Container"):
        defaults["limits"] = {**fields(defaults["limits"]), **fields(limit.get("default"))}
        defaults["requests"] = {**fields(defaults["requests"]), **fields(limit.get("defaultRequest"))}
    return defaults


def _limits(limit_range: Object, kind: str) -> Iterator[Object]:
    for raw in items(dig(limit_range, "spec", "limits")):
        if fields(raw).get("type") == kind:
            yield fields(raw)


def _with_defaults(pod: Object, defaults: Object) -> Object:
    changes: list[str] = []
    spec = dict(fields(pod.get("spec")))
    for group, title in _GROUPS:
        containers = items(spec.get(group))
        if containers:
            spec[group] = [
                _with_default_resources(fields(container), defaults, title, changes)
                for container in containers
            ]
    if not changes:
        return pod
    meta = fields(pod.get("metadata"))
    annotations: Object = {
        **fields(meta.get("annotations")),
        _ANNOTATION: f"LimitRanger plugin set: {'; '.join(changes)}",
    }
    return {**pod, "metadata": {**meta, "annotations": annotations}, "spec": spec}


def _with_default_resources(container: Object, defaults: Object, title: str, changes: list[str]) -> Json:
    resources = dict(fields(container.get("resources")))
    for side, noun in (("requests", "request"), ("limits", "limit")):
        present, additional = fields(resources.get(side)), fields(defaults[side])
        missing = sorted(additional.keys() - present.keys())
        if missing:
            resources[side] = {**present, **{key: additional[key] for key in missing}}
            changes.append(f"{', '.join(missing)} {noun} for {title} {text(container.get('name'))}")
    return {**container, "resources": resources} if resources else container


def check_limits(obj: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused` for a Pod or a claim outside the limits of its namespace."""
    kind = call.resource.kind
    if call.resource.group or kind not in {"Pod", "PersistentVolumeClaim"}:
        return
    for _, limit_range in store.within(_LIMIT_RANGES, call.address.namespace):
        violations = list(
            _pod_problems(obj, limit_range) if kind == "Pod" else _claim_problems(obj, limit_range)
        )
        if violations:
            message = violations[0] if len(violations) == 1 else f"[{', '.join(dict.fromkeys(violations))}]"
            raise forbidden(call.resource.plural, "", text(dig(obj, "metadata", "name")), message)


def _pod_problems(pod: Object, limit_range: Object) -> Iterator[str]:
    for raw in items(dig(limit_range, "spec", "limits")):
        limit = fields(raw)
        if limit.get("type") == "Container":
            for group, _ in _GROUPS:
                for container in items(dig(pod, "spec", group)):
                    yield from _problems(limit, fields(fields(container).get("resources")))
        elif limit.get("type") == "Pod":
            yield from _problems(limit, {side: _pod_amounts(pod, side) for side in ("requests", "limits")})


def _pod_amounts(pod: Object, side: str) -> Object:
    """The sum over the containers, or the amount of the largest init container if that is more."""
    total: dict[str, Fraction] = {}
    like: Object = {}
    for container in items(dig(pod, "spec", "containers")):
        for key, quantity in fields(dig(container, "resources", side)).items():
            total[key] = total.get(key, Fraction(0)) + value_or_zero(quantity)
            like[key] = quantity
    for container in items(dig(pod, "spec", "initContainers")):
        for key, quantity in fields(dig(container, "resources", side)).items():
            total[key] = max(total.get(key, Fraction(0)), value_or_zero(quantity))
            like.setdefault(key, quantity)
    return {key: written_like(amount, like[key]) for key, amount in total.items()}


def _claim_problems(claim: Object, limit_range: Object) -> Iterator[str]:
    requests = fields(dig(claim, "spec", "resources", "requests"))
    for limit in _limits(limit_range, "PersistentVolumeClaim"):
        for key, minimum in sorted(fields(limit.get("min")).items()):
            yield from _minimum_problems("PersistentVolumeClaim", key, minimum, requests, {})
        for key, maximum in sorted(fields(limit.get("max")).items()):
            limit_text = f"maximum {key} usage per PersistentVolumeClaim is {text(maximum)}"
            if key not in requests:
                yield f"{limit_text}.  No request is specified"
            elif value_or_zero(requests[key]) > value_or_zero(maximum):
                yield f"{limit_text}, but request is {text(requests[key])}"


def _problems(limit: Object, resources: Object) -> Iterator[str]:
    kind = text(limit.get("type"))
    requests, limits = fields(resources.get("requests")), fields(resources.get("limits"))
    for key, minimum in sorted(fields(limit.get("min")).items()):
        yield from _minimum_problems(kind, key, minimum, requests, limits)
    for key, maximum in sorted(fields(limit.get("max")).items()):
        limit_text = f"maximum {key} usage per {kind} is {text(maximum)}"
        if key not in limits:
            yield f"{limit_text}.  No limit is specified"
        elif value_or_zero(limits[key]) > value_or_zero(maximum):
            yield f"{limit_text}, but limit is {text(limits[key])}"
        elif key in requests and value_or_zero(requests[key]) > value_or_zero(maximum):
            yield f"{limit_text}, but request is {text(requests[key])}"
    for key, ratio in sorted(fields(limit.get("maxLimitRequestRatio")).items()):
        limit_text = f"{key} max limit to request ratio per {kind} is {text(ratio)}"
        request, ceiling = value_or_zero(requests.get(key)), value_or_zero(limits.get(key))
        if not request:
            yield f"{limit_text}, but no request is specified or request is 0"
        elif not ceiling:
            yield f"{limit_text}, but no limit is specified or limit is 0"
        elif ceiling / request > value_or_zero(ratio):
            yield f"{limit_text}, but provided ratio is {float(ceiling / request):f}"


def _minimum_problems(kind: str, key: str, minimum: Json, requests: Object, limits: Object) -> Iterator[str]:
    limit_text = f"minimum {key} usage per {kind} is {text(minimum)}"
    if key not in requests:
        yield f"{limit_text}.  No request is specified"
    elif value_or_zero(requests[key]) < value_or_zero(minimum):
        yield f"{limit_text}, but request is {text(requests[key])}"
    elif key in limits and value_or_zero(limits[key]) < value_or_zero(minimum):
        yield f"{limit_text}, but limit is {text(limits[key])}"
