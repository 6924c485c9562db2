"""Changes of an object by the conversion to the server's internal types and back, after decoding.

Mirrors the conversions and those defaults of Kubernetes 1.36 that Argo CD does not compile in. Managers own
these fields as if they had written them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from whysync.golang.quantity import value_or_zero, written_like
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.validation.config import with_string_data

_TEMPLATES: Final = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def converted(obj: Object, resource: Resource) -> Object:
    path = _TEMPLATES.get(resource.kind)
    if path is not None and resource.group in {"", "apps", "batch"}:
        obj = _changed_at(obj, (*path, "spec"), _with_service_account_names)
    match resource.kind:
        case "Secret":
            return with_string_data(obj)
        case "DaemonSet":
            return _with_template_generation(obj)
        case "StatefulSet":
            return _changed_at(obj, ("spec",), _with_claim_template_types)
        case "CustomResourceDefinition":
            return _changed_at(obj, ("spec",), _with_definition_defaults)
        case "APIService":
            return _changed_at(obj, ("spec", "service"), _with_service_port)
        case "ResourceClaim":
            return _changed_at(obj, ("spec", "devices"), _with_allocation_modes)
        case "ResourceClaimTemplate":
            return _changed_at(obj, ("spec", "spec", "devices"), _with_allocation_modes)
        case "Pod":
            return _changed_at(obj, ("spec",), _with_pod_level_requests)
        case "Node":
            return _changed_at(obj, ("spec",), _with_pod_cidrs)
        case _:
            return obj


def _changed_at(obj: Object, path: tuple[str, ...], change: Callable[[Object], Object]) -> Object:
    value = obj.get(path[0])
    if not isinstance(value, dict):
        return obj
    new = change(value) if len(path) == 1 else _changed_at(value, path[1:], change)
    return obj if new is value else {**obj, path[0]: new}


def _with_service_account_names(spec: Object) -> Object:
    """Sets the deprecated `serviceAccount` and `serviceAccountName` to the same name."""
    name_field, deprecated_field = text(spec.get("serviceAccountName")), text(spec.get("serviceAccount"))
    name = name_field or deprecated_field
    if not name or (name_field == deprecated_field):
        return spec
    return {**spec, "serviceAccountName": name, "serviceAccount": name}


def _with_pod_level_requests(spec: Object) -> Object:
    """Defaults pod-level requests to the sum over the containers, or to the pod-level limit."""
    limits = dig(spec, "resources", "limits")
    if not isinstance(limits, dict):
        return spec
    requests = dict(fields(dig(spec, "resources", "requests")))
    for name in ("cpu", "memory"):
        if name in limits and name not in requests:
            requests[name] = _summed_container_requests(spec, name) or limits[name]
    return {**spec, "resources": {**fields(spec.get("resources")), "requests": requests}}


def _summed_container_requests(spec: Object, name: str) -> Json:
    """The sum over the containers, in the format of the first; `None` if none has a request."""
    requests = [dig(container, "resources", "requests", name) for container in items(spec.get("containers"))]
    amounts = [amount for amount in requests if isinstance(amount, (str, int, float))]
    if not amounts:
        return None
    return (
        amounts[0]
        if len(amounts) == 1
        else written_like(sum(map(value_or_zero, amounts), Fraction(0)), amounts[0])
    )


def _with_pod_cidrs(spec: Object) -> Object:
    """Sets `podCIDR` and the first of `podCIDRs` of a Node to the same value."""
    pod_cidr, pod_cidrs = text(spec.get("podCIDR")), items(spec.get("podCIDRs"))
    if pod_cidr and (not pod_cidrs or pod_cidrs[0] != pod_cidr):
        return {**spec, "podCIDRs": [pod_cidr]}
    return {**spec, "podCIDR": pod_cidrs[0]} if pod_cidrs and not pod_cidr else spec


def _with_template_generation(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if TEMPLATE_GENERATION in annotations:
        return obj
    return {**obj, "metadata": {**meta, "annotations": {**annotations, TEMPLATE_GENERATION: "0"}}}


def _with_claim_template_types(spec: Object) -> Object:
    templates = items(spec.get("volumeClaimTemplates"))
    if not templates:
        return spec
    typed: list[Json] = [
        {**fields(template), "apiVersion": "v1", "kind": "PersistentVolumeClaim"} for template in templates
    ]
    return {**spec, "volumeClaimTemplates": typed}


def _with_service_port(service: Object) -> Object:
    return service if service.get("port") is not None else {**service, "port": 443}


def _with_definition_defaults(spec: Object) -> Object:
    names = dict(fields(spec.get("names")))
    kind = text(names.get("kind"))
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = fields(spec.get("conversion")) or {"strategy": "None"}
    service = dig(conversion, "webhook", "clientConfig", "service")
    if isinstance(service, dict) and service.get("port") is None:
        webhook = fields(conversion.get("webhook"))
        with_port: Object = {**service, "port": 443}
        client_config: Object = {**fields(webhook.get("clientConfig")), "service": with_port}
        with_client_config: Object = {**webhook, "clientConfig": client_config}
        conversion: Object = {**conversion, "webhook": with_client_config}
    return {**spec, "names": names, "conversion": conversion}


def _with_allocation_modes(devices: Object) -> Object:
    requests: list[Json] = [
        _with_allocation_mode(fields(request)) for request in items(devices.get("requests"))
    ]
    return {**devices, "requests": requests} if requests else devices


def _with_allocation_mode(request: Object) -> Json:
    exactly = request.get("exactly")
    if not isinstance(exactly, dict) or exactly.get("allocationMode"):
        return request
    return {**request, "exactly": {**exactly, "allocationMode": "ExactCount", "count": 1}}


EVENTS_V1: Final = "events.k8s.io/v1"
_EVENTS_V1_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_V1_NAMES: Final = {own: core for core, own in _EVENTS_V1_NAMES.items()}


def event_in_group(event: Object, api_version: str) -> Object:
    """The Event as the other group names its fields: `v1` and `events.k8s.io/v1`, Kubernetes 1.36."""
    names = _EVENTS_V1_NAMES if api_version == EVENTS_V1 else _CORE_V1_NAMES
    return {**{names.get(key, key): value for key, value in event.items()}, "apiVersion": api_version}


AUTOSCALING_V1: Final = "autoscaling/v1"
AUTOSCALING_V2: Final = "autoscaling/v2"
_CPU_PERCENT: Final = "targetCPUUtilizationPercentage"
_DEFAULT_CPU_PERCENT: Final = 80


def autoscaler_in_version(obj: Object, api_version: str) -> Object:
    """The HorizontalPodAutoscaler in the other version, Kubernetes 1.36.

    Differs: only CPU utilization is converted; other metrics and the behavior are not written to annotations.
    """
    spec = dict(fields(obj.get("spec")))
    if api_version == AUTOSCALING_V1:
        percent = _cpu_utilization(items(spec.pop("metrics", None)))
        spec.pop("behavior", None)
        if percent is not None:
            spec[_CPU_PERCENT] = percent
    else:
        percent = integer(spec.pop(_CPU_PERCENT, None), _DEFAULT_CPU_PERCENT)
        target: Json = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {**obj, "apiVersion": api_version, "spec": spec}


def with_default_cpu_percent(obj: Object) -> Object:
    """The autoscaler with a default target for CPU utilization."""
    spec = fields(obj.get("spec"))
    if spec.get(_CPU_PERCENT) is not None:
        return obj
    filled: Object = {**spec, _CPU_PERCENT: _DEFAULT_CPU_PERCENT}
    return {**obj, "spec": filled}


def _cpu_utilization(metrics: list[Json]) -> int | None:
    for raw in metrics:
        resource = fields(fields(raw).get("resource"))
        share = dig(resource, "target", "averageUtilization")
        if resource.get("name") == "cpu" and isinstance(share, int):
            return share
    return None
