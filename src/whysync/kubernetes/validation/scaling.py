"""HorizontalPodAutoscalers and PodDisruptionBudgets.

Mirrors `autoscaling/validation` and `policy/validation`, Kubernetes 1.36. Of an autoscaler of
`autoscaling/v1` only replicas and target are validated.
"""

from __future__ import annotations

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    Problems,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.resources import validate_container_resource_name
from whysync.kubernetes.validation.scalars import (
    is_not_more_than_100_percent,
    validate_optional_enum,
    validate_positive_int_or_percent,
    validate_required,
)
from whysync.kubernetes.validation.selectors import validate_label_selector

_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_RAW_OR_USED = "a target raw value {} a target utilization"
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800


def validate_horizontal_pod_autoscaler(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_horizontal_pod_autoscaler_spec(fields(obj.get("spec")), None)


def validate_horizontal_pod_autoscaler_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_horizontal_pod_autoscaler_spec(fields(new.get("spec")), fields(old.get("spec")))


def validate_pod_disruption_budget(obj: Object) -> Problems:
    """Name and labels are validated only by `validate_object_meta_accessor`."""
    spec = fields(obj.get("spec"))
    min_available, max_unavailable = spec.get("minAvailable"), spec.get("maxUnavailable")
    if min_available is not None and max_unavailable is not None:
        bad_value = internal(spec, "policy/v1.PodDisruptionBudgetSpec")
        yield invalid("spec", bad_value, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            yield from validate_positive_int_or_percent(spec.get(field), f"spec.{field}")
            yield from is_not_more_than_100_percent(spec.get(field), f"spec.{field}")
    yield from validate_label_selector(spec.get("selector"), "spec.selector")
    field, policies = "unhealthyPodEvictionPolicy", ("AlwaysAllow", "IfHealthyBudget")
    yield from validate_optional_enum(spec.get(field), f"spec.{field}", policies)


def validate_pod_disruption_budget_update(_: Object, new: Object) -> Problems:
    yield from validate_pod_disruption_budget(new)


def _validate_horizontal_pod_autoscaler_spec(spec: Object, old_spec: Object | None) -> Problems:
    """`minReplicas: 0` and a target without API group are accepted if the old spec had them."""
    min_replicas, max_replicas = spec.get("minReplicas"), integer(spec.get("maxReplicas"))
    lower_bound = 0 if old_spec is not None and old_spec.get("minReplicas") == 0 else 1
    if min_replicas is not None and integer(min_replicas) < lower_bound:
        yield invalid(
            "spec.minReplicas", integer(min_replicas), f"must be greater than or equal to {lower_bound}"
        )
    if max_replicas == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif max_replicas < 0:
        yield invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to 1")
    if min_replicas is not None and max_replicas < integer(min_replicas):
        yield invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to `minReplicas`")
    target = fields(spec.get("scaleTargetRef"))
    tolerated = old_spec is not None and "/" not in text(
        fields(old_spec.get("scaleTargetRef")).get("apiVersion")
    )
    yield from _validate_cross_version_object_reference(target, "spec.scaleTargetRef", tolerated=tolerated)
    metrics = [fields(item) for item in items(spec.get("metrics"))]
    for index, metric in enumerate(metrics):
        yield from _validate_metric_spec(metric, f"spec.metrics[{index}]")
    if min_replicas == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", detail)
    behavior = fields(spec.get("behavior"))
    for field in ("scaleUp", "scaleDown"):
        if isinstance(behavior.get(field), dict):
            yield from _validate_scaling_rules(fields(behavior.get(field)), f"spec.behavior.{field}")


def _validate_cross_version_object_reference(
    reference: Object, path: str, *, tolerated: bool, any_group: bool = False
) -> Problems:
    for field in ("kind", "name"):
        value = text(reference.get(field))
        yield from validate_required(value, f"{path}.{field}", names.path_segment)
    version = text(reference.get("apiVersion"))
    if tolerated:
        return
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif "/" not in version and not any_group:
        yield invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _validate_metric_spec(metric: Object, path: str) -> Problems:
    kind = text(metric.get("type"))
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _METRICS:
        yield unsupported(f"{path}.type", kind, _METRICS)
    present = [source for source in _SOURCES if isinstance(metric.get(source), dict)]
    if present:
        yield from _validate_metric_source(present[0], fields(metric.get(present[0])), f"{path}.{present[0]}")
    expected = kind[:1].lower() + kind[1:]
    if kind not in _METRICS:
        yield unsupported(f"{path}.type", kind, _METRICS)
    elif expected not in present:
        yield required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for source in present:
            if source != expected:
                yield forbidden(f"{path}.{source}", "must populate the given metric source only")


def _validate_metric_source(kind: str, source: Object, path: str) -> Problems:
    target = fields(source.get("target"))
    if kind == "object":
        described = fields(source.get("describedObject"))
        yield from _validate_cross_version_object_reference(
            described, f"{path}.describedObject", tolerated=False, any_group=True
        )
    if kind in ("object", "external", "pods"):
        name = text(fields(source.get("metric")).get("name"))
        yield from validate_required(
            name, f"{path}.metric.name", names.path_segment, "must specify a metric name"
        )
    else:
        yield from _validate_resource_source(kind, source, path)
    yield from _validate_metric_target(target, f"{path}.target")
    yield from _validate_required_target_fields(kind, target, f"{path}.target")


def _validate_resource_source(kind: str, source: Object, path: str) -> Problems:
    name, container = text(source.get("name")), text(source.get("container"))
    if not name:
        yield required(f"{path}.name", "must specify a resource name")
    if kind != "containerResource":
        return
    if name:
        yield from validate_container_resource_name(name, f"{path}.name")
    yield from validate_required(container, f"{path}.container", names.dns_label, "must specify a container")


def _validate_required_target_fields(kind: str, target: Object, path: str) -> Problems:
    """Which of `value`, `averageValue` and `averageUtilization` a metric source needs."""
    value, average, utilization = (
        target.get(field) for field in ("value", "averageValue", "averageUtilization")
    )
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
            if utilization is None and average is None:
                yield required(f"{path}.averageUtilization", f"must set either {_RAW_OR_USED.format('or')}")
            if utilization is not None and average is not None:
                yield forbidden(f"{path}.averageValue", f"may not set both {_RAW_OR_USED.format('and')}")


def _validate_metric_target(target: Object, path: str) -> Problems:
    kind = text(target.get("type"))
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        yield from _validate_positive_quantity(target.get(field), f"{path}.{field}")
    utilization = target.get("averageUtilization")
    if utilization is not None and integer(utilization) < 1:
        yield invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


def _validate_positive_quantity(value: Json | Missing, path: str) -> Problems:
    if value is None or isinstance(value, Missing):
        return
    amount = quantity_value(value)
    if amount is not None and amount <= 0:
        yield invalid(path, quantity_text(value), "must be positive")


def _validate_scaling_rules(rules: Object, path: str) -> Problems:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and integer(window) < 0:
        detail = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    if integer(window) > _LONGEST_WINDOW:
        detail = f"must be less than or equal to {_LONGEST_WINDOW}"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    yield from validate_optional_enum(
        rules.get("selectPolicy"), f"{path}.selectPolicy", ("Disabled", "Max", "Min")
    )
    policies = items(rules.get("policies"))
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, item in enumerate(policies):
        policy, item_path = fields(item), f"{path}.policies[{index}]"
        kind = text(policy.get("type"))
        if kind not in ("Percent", "Pods"):
            yield unsupported(f"{item_path}.type", kind, ("Percent", "Pods"))
        for field in ("value", "periodSeconds"):
            if integer(policy.get(field)) <= 0:
                yield invalid(f"{item_path}.{field}", integer(policy.get(field)), "must be greater than zero")
        if integer(policy.get("periodSeconds")) > _LONGEST_PERIOD:
            detail = f"must be less than or equal to {_LONGEST_PERIOD}"
            yield invalid(f"{item_path}.periodSeconds", integer(policy.get("periodSeconds")), detail)
