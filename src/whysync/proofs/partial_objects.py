"""Complete objects that the facts show only in part: masked Secrets, missing CRDs, shortened manifests.

An object without a UID or a resourceVersion was edited by hand after it was read from an API server.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Final

from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.diagnosis.case import Case
from whysync.facts.masking import is_mask
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import Ref, group_of, ref_of, version_of
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.resource_kind import BuiltIn
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.controllers.deployment import replicas_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.messages.patterns.apply import KindNotServed

_CRD: Final = "CustomResourceDefinition"


# --- secrets -------------------------------------------------------------------------------------


def unmasked(obj: Object) -> Object:
    """A Secret with valid values instead of masks: equal masks become equal values."""
    if obj.get("kind") != "Secret":
        return obj
    new: Object = {key: value for key, value in obj.items() if key not in ("data", "stringData")}
    # As in the API server, `stringData` overrides `data`.
    values: Object = {
        key: _unmasked_value(value) for field in ("data", "stringData") for key, value in _values(obj, field)
    }
    if values:
        new["data"] = values
    annotations = fields(dig(obj, "metadata", "annotations"))
    if is_mask(text(annotations.get(LAST_APPLIED))):
        other_annotations: Object = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        new["metadata"] = {**fields(obj.get("metadata")), "annotations": other_annotations}
    return new


def _values(obj: Object, field: str) -> Iterator[tuple[str, Json]]:
    """Keys and values in base64; nothing if the whole field was masked as one value."""
    for key, value in fields(obj.get(field)).items():
        plain = field == "stringData" and isinstance(value, str) and not is_mask(value)
        yield key, base64.b64encode(text(value).encode()).decode() if plain else value


def _unmasked_value(value: Json) -> Json:
    if isinstance(value, str) and is_mask(value):
        return base64.b64encode(value.encode()).decode()
    return value


def has_masked_values(obj: Object) -> bool:
    return obj.get("kind") == "Secret" and any(
        isinstance(value, str) and is_mask(value)
        for field in ("data", "stringData")
        for value in fields(obj.get(field)).values()
    )


# --- kinds ---------------------------------------------------------------------------------------


def is_built_in_group(group: str) -> bool:
    """Also true for `extensions`, whose kinds have all moved: no CRD can define them."""
    return group == "extensions" or any(group_of(version) == group for version, _ in built_in())


class AssumedCrds:
    """CRDs for kinds that must exist although the facts have no CustomResourceDefinition for them."""

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

    def definitions(self) -> list[Object]:
        """A permissive CRD for each such kind, unless the cluster reported that the kind does not exist."""
        defined = {
            _defined_kind(live_object) for live_object in self._live if live_object.get("kind") == _CRD
        }
        coming = {
            _defined_kind(desired_object): desired_object
            for desired_object in self._desired
            if desired_object.get("kind") == _CRD
        }
        live_kinds = {_kind_of(live_object) for live_object in self._live}
        definitions: list[Object] = []
        for group, kind in sorted(
            {_kind_of(live_object) for live_object in (*self._live, *self._desired)} - defined
        ):
            if is_built_in_group(group) or not kind or not group:
                continue
            if (group, kind) in coming:
                # Git has the CRD. If objects of the kind are live, it was applied already.
                if (group, kind) in live_kinds or self._is_synced(coming[group, kind]):
                    definitions.append(coming[group, kind])
                continue
            if (group, kind) not in live_kinds and self._is_refused(group, kind):
                continue
            definitions.append(self._definition(group, kind))
            self.gaps.append(
                Gap(
                    kind=GapKind.NO_SCHEMA,
                    what=f"the schema of {kind} ({group})",
                    about=Ref(group=group, version="", kind=kind, namespace="", name=""),
                    why="its CustomResourceDefinition is not in the facts",
                    how_to_get=f"kubectl get crd -o yaml | grep -B3 'kind: {kind}'",
                )
            )
        return definitions

    def _is_synced(self, definition: Object) -> bool:
        row = self._case.rows.get(ref_of(definition).key)
        return row is not None and row.status == "Synced"

    def _is_refused(self, group: str, kind: str) -> bool:
        return (group, kind) in self._refused or ("", kind) in self._refused

    def _definition(self, group: str, kind: str) -> Object:
        own = [obj for obj in (*self._live, *self._desired) if _kind_of(obj) == (group, kind)]
        versions = list(dict.fromkeys(version_of(text(obj.get("apiVersion"))) for obj in own))
        plural = f"{kind.lower()}s"
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
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced" if self._is_namespaced(group, kind, own) else "Cluster",
                "names": {
                    "kind": kind,
                    "plural": plural,
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
        live = [obj for obj in own if obj in self._live]
        if any(dig(obj, "metadata", "namespace") for obj in live or own):
            return True
        # Objects without a namespace in an app without one can only be of a cluster-scoped kind.
        return not live and bool(self._case.destination_namespace) and not is_cluster_scoped_kind(kind)


def _kind_of(obj: Object) -> tuple[str, str]:
    return group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))


def _defined_kind(definition: Object) -> tuple[str, str]:
    return text(dig(definition, "spec", "group")), text(dig(definition, "spec", "names", "kind"))


# --- pod templates and shortened objects ---------------------------------------------------------


def pod_templates(obj: Object) -> Iterator[Object]:
    """The pod specs of an object: of its pod template, or its own."""
    kind = obj.get("kind")
    if kind == "Pod":
        yield fields(obj.get("spec"))
    elif kind == "CronJob":
        yield fields(dig(obj, "spec", "jobTemplate", "spec", "template", "spec"))
    else:
        spec = fields(dig(obj, "spec", "template", "spec"))
        if items(spec.get("containers")):
            yield spec


_LONG_AGO: Final = "2000-01-01T00:00:00Z"


def is_partial(obj: Object) -> bool:
    """Was the object shortened by hand? Everything that an API server returns has these fields."""
    meta = fields(obj.get("metadata"))
    return not (meta.get("uid") and meta.get("resourceVersion"))


def completed(obj: Object, *, healthy: bool) -> Object:
    """A partial object with the defaults of its kind and, if `healthy`, the status of a healthy object."""
    if not is_partial(obj):
        return obj
    ref = ref_of(obj)
    if ref.kind == "CustomResourceDefinition":
        return _definition(obj)
    resource = built_in_kind(ref.api_version, ref.kind)
    if resource is None:
        return obj
    served = BuiltIn(resource)
    try:
        obj = served.defaulted(served.decode(with_required_fields(obj))[0])
    except (Refused, ValueError, TypeError, RecursionError):
        return obj  # not a valid object: it cannot be completed
    if healthy and not fields(obj.get("status")):
        status = _healthy_status(obj)
        return {**obj, "status": status} if status else obj
    return obj


def with_required_fields(obj: Object) -> Object:
    """The object with the required fields of its kind, where they were left out.

    The same fields are added to live objects and manifests, so that they do not differ.
    """
    name = text(dig(obj, "metadata", "name"))
    spec = fields(obj.get("spec"))
    added: Object = {}
    match obj.get("kind"):
        case "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet":
            added = _workload(name, spec)
            if obj.get("kind") == "StatefulSet" and "serviceName" not in spec:
                added["serviceName"] = name
        case "Job" if not items(dig(spec, "template", "spec", "containers")):
            added = _job_template(spec)
        case "Service" if spec.get("type") == "ExternalName":
            added = {} if spec.get("externalName") else {"externalName": "unknown.example.com"}
        case "Service" if "ports" not in spec:
            added = {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}
        case "PersistentVolumeClaim":
            if not dig(spec, "resources", "requests", "storage"):
                added["resources"] = {**fields(spec.get("resources")), "requests": {"storage": "1Gi"}}
            if "accessModes" not in spec:
                added["accessModes"] = ["ReadWriteOnce"]
        case _:
            pass
    return {**obj, "spec": {**spec, **added}} if added else obj


def _job_template(spec: Object) -> Object:
    template = fields(spec.get("template"))
    containers: list[Json] = [{"name": "container-0", "image": "image:unknown"}]
    pod: Object = {"restartPolicy": "Never", **fields(template.get("spec")), "containers": containers}
    return {"template": {**template, "spec": pod}}


def _workload(name: str, spec: Object) -> Object:
    template = fields(spec.get("template"))
    labels = fields(dig(template, "metadata", "labels"))
    selector = fields(dig(spec, "selector", "matchLabels"))
    match_labels: Object = selector or (dict(labels) or {"app": name})
    added: Object = {}
    if not fields(spec.get("selector")):
        added["selector"] = {"matchLabels": match_labels}
    meta, pod = fields(template.get("metadata")), fields(template.get("spec"))
    containers = [fields(container) for container in items(pod.get("containers"))] or [{}]
    named: list[Json] = [
        {"name": f"container-{number}", "image": "image:unknown", **container}
        for number, container in enumerate(containers)
    ]
    if not labels or named != containers:
        new: Object = {
            "metadata": {**meta, "labels": labels or match_labels},
            "spec": {**pod, "containers": named},
        }
        added["template"] = {**template, **new}
    return added


def built_in_kind(api_version: str, kind: str) -> Resource | None:
    return next(
        (
            resource
            for (version, _), resource in built_in().items()
            if version == api_version and resource.kind == kind
        ),
        None,
    )


def _healthy_status(obj: Object) -> Object:
    """The status of a healthy object of this kind."""
    generation = integer(dig(obj, "metadata", "generation"))
    count = replicas_of(obj)
    counts: Object = {"observedGeneration": generation, "replicas": count, "updatedReplicas": count}
    match obj.get("kind"):
        case "Deployment" | "ReplicaSet":
            conditions: list[Json] = [
                _condition("Available", "MinimumReplicasAvailable"),
                _condition("Progressing", "NewReplicaSetAvailable"),
            ]
            return {
                **counts,
                "readyReplicas": count,
                "availableReplicas": count,
                "conditions": conditions,
            }
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
    """A live CRD is served, so its names, versions and scope are completed."""
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
        {"served": True, "storage": number == 0, **fields(version)}
        for number, version in enumerate(items(spec.get("versions")))
    ]
    scope = text(spec.get("scope")) or "Namespaced"
    return {**obj, "spec": {**spec, "names": names, "versions": versions, "scope": scope}}
