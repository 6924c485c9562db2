"""What a round trip through the server's internal types changes, right after a body was decoded.

Mirrors the conversions and those defaults of Kubernetes 1.36 that Argo CD does not compile in. Managers own
these fields as if they had written them.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from whysync.golang.quantity import value_or_zero, written_like
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource

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
        obj = _at(obj, (*path, "spec"), _accounts)
    match resource.kind:
        case "Secret":
            return _with_bytes(obj)
        case "DaemonSet":
            return _counted_template(obj)
        case "StatefulSet":
            return _at(obj, ("spec",), _claim_templates)
        case "CustomResourceDefinition":
            return _at(obj, ("spec",), _definition)
        case "APIService":
            return _at(obj, ("spec", "service"), _service_port)
        case "ResourceClaim":
            return _at(obj, ("spec", "devices"), _device_requests)
        case "ResourceClaimTemplate":
            return _at(obj, ("spec", "spec", "devices"), _device_requests)
        case "Pod":
            return _at(obj, ("spec",), _pod_level_requests)
        case "Node":
            return _at(obj, ("spec",), _pod_ranges)
        case _:
            return obj


def _at(obj: Object, path: tuple[str, ...], change: Callable[[Object], Object]) -> Object:
    value = obj.get(path[0])
    if not isinstance(value, dict):
        return obj
    new = change(value) if len(path) == 1 else _at(value, path[1:], change)
    return obj if new is value else {**obj, path[0]: new}


def _accounts(spec: Object) -> Object:
    """The old name of the service account's field follows the new one."""
    new, old = text(spec.get("serviceAccountName")), text(spec.get("serviceAccount"))
    name = new or old
    if not name or (new == old):
        return spec
    return {**spec, "serviceAccountName": name, "serviceAccount": name}


def _pod_level_requests(spec: Object) -> Object:
    """What a Pod as a whole does not ask for, its containers ask for together, or its limit says."""
    limits = dig(spec, "resources", "limits")
    if not isinstance(limits, dict):
        return spec
    requests = dict(fields(dig(spec, "resources", "requests")))
    for name in ("cpu", "memory"):
        if name in limits and name not in requests:
            requests[name] = _asked_for(spec, name) or limits[name]
    return {**spec, "resources": {**fields(spec.get("resources")), "requests": requests}}


def _asked_for(spec: Object, name: str) -> Json:
    """The sum over the containers, where all of one kind; written as the first of them is."""
    given = [dig(container, "resources", "requests", name) for container in items(spec.get("containers"))]
    amounts = [one for one in given if isinstance(one, (str, int, float))]
    if not amounts:
        return None
    return (
        amounts[0]
        if len(amounts) == 1
        else written_like(sum(map(value_or_zero, amounts), Fraction(0)), amounts[0])
    )


def _pod_ranges(spec: Object) -> Object:
    """The old field of a Node for the addresses of its Pods is the first of the new list."""
    old, new = text(spec.get("podCIDR")), items(spec.get("podCIDRs"))
    if old and (not new or new[0] != old):
        return {**spec, "podCIDRs": [old]}
    return {**spec, "podCIDR": new[0]} if new and not old else spec


def _with_bytes(obj: Object) -> Object:
    """What was given as plain text is kept as bytes."""
    plain = obj.get("stringData")
    if not isinstance(plain, dict):
        return obj
    kept = {key: value for key, value in obj.items() if key != "stringData"}
    coded: Object = {key: encoded(text(value)) for key, value in plain.items()}
    return {**kept, "data": {**fields(obj.get("data")), **coded}} if coded else kept


def encoded(value: str) -> str:
    return binascii.b2a_base64(value.encode("utf-8", "surrogatepass"), newline=False).decode()


def _counted_template(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if TEMPLATE_GENERATION in annotations:
        return obj
    return {**obj, "metadata": {**meta, "annotations": {**annotations, TEMPLATE_GENERATION: "0"}}}


def _claim_templates(spec: Object) -> Object:
    templates = items(spec.get("volumeClaimTemplates"))
    if not templates:
        return spec
    named: list[Json] = [
        {**fields(template), "apiVersion": "v1", "kind": "PersistentVolumeClaim"} for template in templates
    ]
    return {**spec, "volumeClaimTemplates": named}


def _service_port(service: Object) -> Object:
    return service if service.get("port") is not None else {**service, "port": 443}


def _definition(spec: Object) -> Object:
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
        given: Object = {**service, "port": 443}
        client: Object = {**fields(webhook.get("clientConfig")), "service": given}
        called: Object = {**webhook, "clientConfig": client}
        conversion: Object = {**conversion, "webhook": called}
    return {**spec, "names": names, "conversion": conversion}


def _device_requests(devices: Object) -> Object:
    requests: list[Json] = [_device_request(fields(request)) for request in items(devices.get("requests"))]
    return {**devices, "requests": requests} if requests else devices


def _device_request(request: Object) -> Json:
    exactly = request.get("exactly")
    if not isinstance(exactly, dict) or exactly.get("allocationMode"):
        return request
    return {**request, "exactly": {**exactly, "allocationMode": "ExactCount", "count": 1}}
