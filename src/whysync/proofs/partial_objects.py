"""Complete objects that the facts show only in part: masked Secrets, missing CRDs, shortened manifests.

An object without a UID or a resourceVersion was edited by hand after it was read from an API server.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Final

from whysync.diagnosis.case import Case
from whysync.facts.masking import is_mark
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import Ref, group_of, ref_of, version_of
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.resource_kind import BuiltIn
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.controllers.deployment_util import replicas_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.messages.patterns.apply import KindNotServed

_CRD: Final = "CustomResourceDefinition"


# --- secrets -------------------------------------------------------------------------------------


def unmasked(obj: Object) -> Object:
    """A Secret whose marks are values that a server takes: the same mark is the same value."""
    if obj.get("kind") != "Secret":
        return obj
    new: Object = {key: value for key, value in obj.items() if key not in ("data", "stringData")}
    # What stands in `stringData` ends up in `data`, and wins there: so the server does it, too.
    values: Object = {
        key: _as_value(value) for place in ("data", "stringData") for key, value in _values(obj, place)
    }
    if values:
        new["data"] = values
    annotations = fields(dig(obj, "metadata", "annotations"))
    if is_mark(text(annotations.get(LAST_APPLIED))):
        kept: Object = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        new["metadata"] = {**fields(obj.get("metadata")), "annotations": kept}
    return new


def _values(obj: Object, place: str) -> Iterator[tuple[str, Json]]:
    """None where all of it was masked as one."""
    for key, value in fields(obj.get(place)).items():
        plain = place == "stringData" and isinstance(value, str) and not is_mark(value)
        yield key, base64.b64encode(text(value).encode()).decode() if plain else value


def _as_value(value: Json) -> Json:
    if isinstance(value, str) and is_mark(value):
        return base64.b64encode(value.encode()).decode()
    return value


def has_marks(obj: Object) -> bool:
    return obj.get("kind") == "Secret" and any(
        isinstance(value, str) and is_mark(value)
        for place in ("data", "stringData")
        for value in fields(obj.get(place)).values()
    )


# --- kinds ---------------------------------------------------------------------------------------


def is_built_in_group(group: str) -> bool:
    """Also `extensions`, whose kinds have all moved: no definition can bring them back."""
    return group == "extensions" or any(group_of(version) == group for version, _ in built_in())


class Kinds:
    """Definitions for kinds that are there though no CustomResourceDefinition among the facts says so."""

    def __init__(self, case: Case, live: Iterable[Object], desired: Iterable[Object]) -> None:
        self._case = case
        self._live = list(live)
        self._desired = list(desired)
        self.gaps: list[Gap] = []
        self._refused = {
            (failure.failure.group, failure.failure.kind)
            for failure in case.failures(KindNotServed)
            if failure.failure.kind
        }

    def assumed(self) -> list[Object]:
        """One that permits everything for each such kind; none where the cluster said that it has none."""
        defined = {_defined(live_object) for live_object in self._live if live_object.get("kind") == _CRD}
        coming = {
            _defined(desired_object): desired_object
            for desired_object in self._desired
            if desired_object.get("kind") == _CRD
        }
        seen = {_kind(live_object) for live_object in self._live}
        found: list[Object] = []
        for group, kind in sorted(
            {_kind(live_object) for live_object in (*self._live, *self._desired)} - defined
        ):
            if is_built_in_group(group) or not kind or not group:
                continue
            if (group, kind) in coming:
                # Git brings the definition; where its objects live already, it has been brought.
                if (group, kind) in seen or self._is_synced(coming[group, kind]):
                    found.append(coming[group, kind])
                continue
            if (group, kind) not in seen and self._is_refused(group, kind):
                continue
            found.append(self._definition(group, kind))
            self.gaps.append(
                Gap(
                    kind=GapKind.NO_SCHEMA,
                    what=f"the schema of {kind} ({group})",
                    about=Ref(group=group, version="", kind=kind, namespace="", name=""),
                    why="its CustomResourceDefinition is not among the facts",
                    how_to_get=f"kubectl get crd -o yaml | grep -B3 'kind: {kind}'",
                )
            )
        return found

    def _is_synced(self, definition: Object) -> bool:
        row = self._case.rows.get(ref_of(definition).key)
        return row is not None and row.status == "Synced"

    def _is_refused(self, group: str, kind: str) -> bool:
        return (group, kind) in self._refused or ("", kind) in self._refused

    def _definition(self, group: str, kind: str) -> Object:
        own = [
            live_object
            for live_object in (*self._live, *self._desired)
            if _kind(live_object) == (group, kind)
        ]
        versions = list(dict.fromkeys(version_of(text(one.get("apiVersion"))) for one in own))
        names = f"{kind.lower()}s"
        schema: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served: list[Json] = [
            {
                "name": version,
                "served": True,
                "storage": number == 0,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
            }
            for number, version in enumerate(versions)
        ]
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": _CRD,
            "metadata": {"name": f"{names}.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced" if self._is_namespaced(group, kind, own) else "Cluster",
                "names": {
                    "kind": kind,
                    "plural": names,
                    "singular": kind.lower(),
                    "listKind": f"{kind}List",
                },
                "versions": served,
            },
        }

    def _is_namespaced(self, group: str, kind: str, own: list[Object]) -> bool:
        rows = [row for row in self._case.app.status.resources if (row.group, row.kind) == (group, kind)]
        if rows:
            return bool(rows[0].namespace)
        live = [one for one in own if one in self._live]
        return any(dig(live_object, "metadata", "namespace") for live_object in live) if live else True


def _kind(obj: Object) -> tuple[str, str]:
    return group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))


def _defined(definition: Object) -> tuple[str, str]:
    return text(dig(definition, "spec", "group")), text(dig(definition, "spec", "names", "kind"))


# --- what pods name ------------------------------------------------------------------------------


def pod_templates(obj: Object) -> Iterator[Object]:
    """The specs of the pods that an object makes, or is."""
    kind = obj.get("kind")
    if kind == "Pod":
        yield fields(obj.get("spec"))
    elif kind == "CronJob":
        yield fields(dig(obj, "spec", "jobTemplate", "spec", "template", "spec"))
    else:
        found = fields(dig(obj, "spec", "template", "spec"))
        if items(found.get("containers")):
            yield found


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
