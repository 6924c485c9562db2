"""What people cut from the objects that they show: defaults, and the status of what is well.

An object without an id or a resource version did not come straight from an API server.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.resource_kind import BuiltIn
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.controllers.deployment_util import replicas_of

_LONG_AGO: Final = "2000-01-01T00:00:00Z"


def is_cut(obj: Object) -> bool:
    meta = fields(obj.get("metadata"))
    return not (meta.get("uid") and meta.get("resourceVersion"))


def completed(obj: Object, *, well: bool) -> Object:
    """With the defaults of its kind and, where Argo CD calls it healthy, with a status that says so."""
    if not is_cut(obj):
        return obj
    ref = ref_of(obj)
    if ref.kind == "CustomResourceDefinition":
        return _definition(obj)
    resource = built_in_kind(ref.api_version, ref.kind)
    if resource is None:
        return obj
    served = BuiltIn(resource)
    try:
        obj = served.defaulted(served.decode(whole(obj))[0])
    except (Refused, ValueError, TypeError, RecursionError):
        return obj  # what no server would take was not written by one
    if well and not fields(obj.get("status")):
        status = _well(obj)
        return {**obj, "status": status} if status else obj
    return obj


def whole(obj: Object) -> Object:
    """With the parts without which no server takes an object of its kind, where somebody left them out.

    Live objects and manifests that were cut alike stay alike.
    """
    name = text(dig(obj, "metadata", "name"))
    spec = fields(obj.get("spec"))
    more: Object = {}
    match obj.get("kind"):
        case "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet":
            more = _workload(name, spec)
            if obj.get("kind") == "StatefulSet" and "serviceName" not in spec:
                more["serviceName"] = name
        case "Service" if spec.get("type") != "ExternalName" and "ports" not in spec:
            more = {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}
        case "PersistentVolumeClaim":
            if not dig(spec, "resources", "requests", "storage"):
                more["resources"] = {**fields(spec.get("resources")), "requests": {"storage": "1Gi"}}
            if "accessModes" not in spec:
                more["accessModes"] = ["ReadWriteOnce"]
        case _:
            pass
    return {**obj, "spec": {**spec, **more}} if more else obj


def _workload(name: str, spec: Object) -> Object:
    template = fields(spec.get("template"))
    labels = fields(dig(template, "metadata", "labels"))
    selected = fields(dig(spec, "selector", "matchLabels"))
    chosen: Object = selected or (dict(labels) or {"app": name})
    more: Object = {}
    if not fields(spec.get("selector")):
        more["selector"] = {"matchLabels": chosen}
    meta, pod = fields(template.get("metadata")), fields(template.get("spec"))
    containers = [fields(container) for container in items(pod.get("containers"))] or [{}]
    named: list[Json] = [
        {"name": f"container-{number}", "image": "image:unknown", **one}
        for number, one in enumerate(containers)
    ]
    if not labels or named != containers:
        new: Object = {"metadata": {**meta, "labels": labels or chosen}, "spec": {**pod, "containers": named}}
        more["template"] = {**template, **new}
    return more


def built_in_kind(api_version: str, kind: str) -> Resource | None:
    return next(
        (one for (version, _), one in built_in().items() if version == api_version and one.kind == kind), None
    )


def _well(obj: Object) -> Object:
    """The status of one that Argo CD calls healthy."""
    generation = integer(dig(obj, "metadata", "generation"))
    count = replicas_of(obj)
    counts: Object = {"observedGeneration": generation, "replicas": count, "updatedReplicas": count}
    match obj.get("kind"):
        case "Deployment" | "ReplicaSet":
            conditions: list[Json] = [
                _condition("Available", "MinimumReplicasAvailable"),
                _condition("Progressing", "NewReplicaSetAvailable"),
            ]
            more: Object = {"readyReplicas": count, "availableReplicas": count, "conditions": conditions}
            return {**counts, **more}
        case "StatefulSet":
            return {**counts, "readyReplicas": count, "availableReplicas": count, "currentReplicas": count}
        case "Ingress":
            return {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        case "Service" if dig(obj, "spec", "type") == "LoadBalancer":
            return {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        case "PersistentVolumeClaim":
            return {"phase": "Bound"}
        case "Job":
            return {"succeeded": 1, "conditions": [_condition("Complete", "CompletionsReached")]}
        case "HorizontalPodAutoscaler":
            return {
                "conditions": [
                    _condition("AbleToScale", "ReadyForNewScale"),
                    _condition("ScalingActive", "ValidMetricFound"),
                ]
            }
        case _:
            return {}


def _condition(type: str, reason: str) -> Object:
    return {
        "type": type,
        "status": "True",
        "reason": reason,
        "lastTransitionTime": _LONG_AGO,
        "lastUpdateTime": _LONG_AGO,
    }


def _definition(obj: Object) -> Object:
    """A definition that is live is served: whatever was left out of it."""
    spec = fields(obj.get("spec"))
    kind = text(dig(spec, "names", "kind"))
    plural = text(dig(obj, "metadata", "name")).partition(".")[0] or f"{kind.lower()}s"
    names: Object = {
        "plural": plural,
        "singular": kind.lower(),
        "listKind": f"{kind}List",
        **fields(spec.get("names")),
    }
    versions: list[Json] = [
        {"served": True, "storage": number == 0, **fields(one)}
        for number, one in enumerate(items(spec.get("versions")))
    ]
    scope = text(spec.get("scope")) or "Namespaced"
    return {**obj, "spec": {**spec, "names": names, "versions": versions, "scope": scope}}
