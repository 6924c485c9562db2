"""Backends of a Service: the workloads whose Pods it selects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.json_tree import Object, dig, fields, integer, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.queries.commands import kubectl, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_WORKLOADS = ("Deployment", "StatefulSet")
_MOST = 100
_LINES = 50


def logs_behind(namespace: str, service: str) -> str:
    """Shows the log of a Pod that the Service selects."""
    logs = kubectl("logs", f"service/{service}", f"--tail={_LINES}", namespace=namespace)
    return with_comment(logs, "of one of its Pods, if it has any")


class _Spec(msgspec.Struct):
    replicas: int = 1


class _Applied(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


def workloads_behind(case: Case, service: Manifest) -> Iterator[Manifest]:
    selector = fields(service.spec.get("selector"))
    if not selector:
        return
    for workload in case.index.live_by_namespace.get(service.ref.namespace, ()):
        labels = fields(dig(workload.spec, "template", "metadata", "labels"))
        if workload.ref.kind in _WORKLOADS and is_selected(labels, selector):
            yield workload


def pods_behind(case: Case, service: Manifest) -> Iterator[Manifest]:
    """The Pods that a Service selects."""
    selector = fields(service.spec.get("selector"))
    for pod in case.live_of_kind("Pod"):
        if pod.ref.namespace == service.ref.namespace and is_selected(pod.labels, selector):
            yield pod


def is_selected(labels: Object, selector: Object) -> bool:
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def scaled_to_zero(case: Case, service: Manifest) -> tuple[Manifest, int] | None:
    """The only workload behind it, if it has 0 replicas, and how many it had before, at least 1."""
    manifests = list(workloads_behind(case, service))
    if len(manifests) != 1 or manifests[0].spec.get("replicas") != 0:
        return None
    return manifests[0], min(max(_declared(case, manifests[0]), 1), _MOST)


def _declared(case: Case, workload: Manifest) -> int:
    """Replicas as declared in Git, or as last applied."""
    desired = case.desired_of(workload.key)
    if desired is not None:
        return integer(desired.spec.get("replicas"), 1)
    try:
        applied = msgspec.json.decode(text(workload.annotations.get(LAST_APPLIED)) or "{}", type=_Applied)
    except (msgspec.MsgspecError, RecursionError):
        return 1
    return applied.spec.replicas


def service_without_selector(case: Case, endpoints: Ref) -> Ref | None:
    """The Service whose only backends are these Endpoints; an EndpointSlice names its Service in a label."""
    if endpoints.kind not in ("Endpoints", "EndpointSlice"):
        return None
    declared = case.desired_of(endpoints.key)
    label = text(declared.labels.get("kubernetes.io/service-name")) if declared is not None else ""
    name = label or endpoints.name
    for service in (*case.desired, *case.live_of_kind("Service")):
        is_it = service.ref.kind == "Service" and service.ref.name == name
        namespaces = ("", endpoints.namespace)
        if is_it and (service.ref.namespace in namespaces or not endpoints.namespace):
            return None if service.spec.get("selector") else service.ref
    return None
