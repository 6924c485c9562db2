"""HorizontalPodAutoscalers and PodDisruptionBudgets.

Mirrors `autoscaling/validation` and `policy/validation`, Kubernetes 1.36. An autoscaler of `autoscaling/v1`
has its metrics elsewhere; of it only replicas and target are checked.
"""

from __future__ import annotations

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.resources import container_resource_name
from whysync.kubernetes.validation.scalars import at_most_all, dns_label, optional_one_of, positive_or_percent
from whysync.kubernetes.validation.selectors import label_selector

_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_RAW_OR_USED = "a target raw value {} a target utilization"
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800


def autoscaler(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _autoscaler_spec(fields(obj.get("spec")), None)


def autoscaler_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _autoscaler_spec(fields(new.get("spec")), fields(old.get("spec")))


def disruption_budget(obj: Object) -> Problems:
    """A budget's name and labels are only checked as every object's are."""
    spec = fields(obj.get("spec"))
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = internal(spec, "policy/v1.PodDisruptionBudgetSpec")
        yield invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            yield from positive_or_percent(spec.get(field), f"spec.{field}")
            yield from at_most_all(spec.get(field), f"spec.{field}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    field, policies = "unhealthyPodEvictionPolicy", ("AlwaysAllow", "IfHealthyBudget")
    yield from optional_one_of(spec.get(field), f"spec.{field}", policies)


def disruption_budget_on_update(_: Object, new: Object) -> Problems:
    yield from disruption_budget(new)


def _autoscaler_spec(spec: Object, old: Object | None) -> Problems:
    """An autoscaler that could scale to zero before, or had a bad target, may keep it."""
    least, most = spec.get("minReplicas"), integer(spec.get("maxReplicas"))
    lowest = 0 if old is not None and old.get("minReplicas") == 0 else 1
    if least is not None and integer(least) < lowest:
        yield invalid("spec.minReplicas", integer(least), f"must be greater than or equal to {lowest}")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < integer(least):
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = fields(spec.get("scaleTargetRef"))
    tolerated = old is not None and "/" not in text(fields(old.get("scaleTargetRef")).get("apiVersion"))
    yield from _reference(target, "spec.scaleTargetRef", tolerated=tolerated)
    metrics = [fields(item) for item in items(spec.get("metrics"))]
    for index, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", detail)
    behavior = fields(spec.get("behavior"))
    for field in ("scaleUp", "scaleDown"):
        if isinstance(behavior.get(field), dict):
            yield from _scaling(fields(behavior.get(field)), f"spec.behavior.{field}")


def _reference(reference: Object, path: str, *, tolerated: bool, any_group: bool = False) -> Problems:
    for field in ("kind", "name"):
        value = text(reference.get(field))
        if value:
            yield from each(f"{path}.{field}", value, names.path_segment(value))
        else:
            yield required(f"{path}.{field}")
    version = text(reference.get("apiVersion"))
    if tolerated:
        return
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif "/" not in version and not any_group:
        yield invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _metric(metric: Object, path: str) -> Problems:
    kind = text(metric.get("type"))
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _METRICS:
        yield unsupported(f"{path}.type", kind, _METRICS)
    present = [source for source in _SOURCES if isinstance(metric.get(source), dict)]
    if present:
        yield from _source(present[0], fields(metric.get(present[0])), f"{path}.{present[0]}")
    expected = kind[:1].lower() + kind[1:]
    if kind not in _METRICS:
        yield unsupported(f"{path}.type", kind, _METRICS)
    elif expected not in present:
        yield required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for source in present:
            if source != expected:
                yield forbidden(f"{path}.{source}", "must populate the given metric source only")


def _source(kind: str, source: Object, path: str) -> Problems:
    target = fields(source.get("target"))
    if kind == "object":
        described = fields(source.get("describedObject"))
        yield from _reference(described, f"{path}.describedObject", tolerated=False, any_group=True)
    if kind in ("object", "external", "pods"):
        name = text(fields(source.get("metric")).get("name"))
        if name:
            yield from each(f"{path}.metric.name", name, names.path_segment(name))
        else:
            yield required(f"{path}.metric.name", "must specify a metric name")
    else:
        yield from _resource_source(kind, source, path)
    yield from _target(target, f"{path}.target")
    yield from _amounts(kind, target, f"{path}.target")


def _resource_source(kind: str, source: Object, path: str) -> Problems:
    name, container = text(source.get("name")), text(source.get("container"))
    if not name:
        yield required(f"{path}.name", "must specify a resource name")
    if kind != "containerResource":
        return
    if name:
        yield from container_resource_name(name, f"{path}.name")
    if container:
        yield from dns_label(container, f"{path}.container")
    else:
        yield required(f"{path}.container", "must specify a container")


def _amounts(kind: str, target: Object, path: str) -> Problems:
    """Which of the three ways to name a target a metric takes."""
    value, average, used = (target.get(field) for field in ("value", "averageValue", "averageUtilization"))
    match kind:
        case "object":
            if value is None and average is None:
                yield required(f"{path}.averageValue", "must set either a target value or averageValue")
        case "external":
            if value is None and average is None:
                detail = "must set either a target value for metric or a per-pod target"
                yield required(f"{path}.averageValue", detail)
            if value is not None and average is not None:
                detail = "may not set both a target value for metric and a per-pod target"
                yield forbidden(f"{path}.value", detail)
        case "pods":
            if average is None:
                yield required(f"{path}.averageValue", "must specify a positive target averageValue")
        case _:
            if used is None and average is None:
                yield required(f"{path}.averageUtilization", f"must set either {_RAW_OR_USED.format('or')}")
            if used is not None and average is not None:
                yield forbidden(f"{path}.averageValue", f"may not set both {_RAW_OR_USED.format('and')}")


def _target(target: Object, path: str) -> Problems:
    kind = text(target.get("type"))
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        yield from _positive(target.get(field), f"{path}.{field}")
    used = target.get("averageUtilization")
    if used is not None and integer(used) < 1:
        yield invalid(f"{path}.averageUtilization", used, "must be greater than 0")


def _positive(value: Json | Missing, path: str) -> Problems:
    if value is None or isinstance(value, Missing):
        return
    worth = quantity_value(value)
    if worth is not None and worth <= 0:
        yield invalid(path, quantity_text(value), "must be positive")


def _scaling(rules: Object, path: str) -> Problems:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and integer(window) < 0:
        detail = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    if integer(window) > _LONGEST_WINDOW:
        detail = f"must be less than or equal to {_LONGEST_WINDOW}"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    yield from optional_one_of(rules.get("selectPolicy"), f"{path}.selectPolicy", ("Disabled", "Max", "Min"))
    policies = items(rules.get("policies"))
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, item in enumerate(policies):
        policy, where = fields(item), f"{path}.policies[{index}]"
        kind = text(policy.get("type"))
        if kind not in ("Percent", "Pods"):
            yield unsupported(f"{where}.type", kind, ("Percent", "Pods"))
        for field in ("value", "periodSeconds"):
            if integer(policy.get(field)) <= 0:
                yield invalid(f"{where}.{field}", integer(policy.get(field)), "must be greater than zero")
        if integer(policy.get("periodSeconds")) > _LONGEST_PERIOD:
            detail = f"must be less than or equal to {_LONGEST_PERIOD}"
            yield invalid(f"{where}.periodSeconds", integer(policy.get("periodSeconds")), detail)
