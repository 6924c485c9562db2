"""A Service or PodDisruptionBudget whose selector matches no Pod.

## Why
The Service has no endpoints: connections to it are refused, and an Ingress returns 503. A
PodDisruptionBudget that selects no Pod protects nothing.

## Bad
```yaml
kind: Service
spec:
  selector: {app: web}
---
kind: Deployment
spec:
  template:
    metadata:
      labels: {app: website}
```

## Good
```yaml
kind: Service
spec:
  selector: {app: website}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Object, dig, fields
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.pods import TEMPLATES, pod_labels_of
from whysync.manifests.tree import Tree, Unit


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="dependency-missing", since="0.1")
def selector_matches_nothing(tree: Tree) -> Iterator[Finding]:
    pod_labels = _PodLabels(tree)
    for unit in tree.units:
        if unit.is_open or any(_may_create_pods(tree, item) for item in unit.items):
            continue
        for item in unit.items:
            selector, at = _selector(item)
            if not selector or tree.lives_outside(item.ref.kind, item.ref.name, item.ref.namespace):
                continue
            if pod_labels.match(selector):
                continue
            workload, is_certain = _intended_workload(unit, item, selector)
            if workload is None:
                continue
            yield finding(
                item,
                f"{item.ref.kind} {item.ref.name} selects no Pod: {_labels_text(selector)}",
                field=at,
                hint=f"{workload.ref.kind} {workload.ref.name} has {_labels_text(pod_labels_of(workload))}",
                severity=Severity.WARNING if is_certain else Severity.INFO,
            )


class _PodLabels:
    """The labels of all Pods in the files, indexed by each label."""

    def __init__(self, tree: Tree) -> None:
        self._by_label: dict[tuple[str, str], list[Object]] = {}
        for item in tree.of_kind(*TEMPLATES):
            labels = pod_labels_of(item)
            for key, value in labels.items():
                self._by_label.setdefault((key, str(value)), []).append(labels)

    def match(self, selector: Object) -> bool:
        rarest = min((self._by_label.get((key, str(value)), []) for key, value in selector.items()), key=len)
        return any(all(labels.get(key) == value for key, value in selector.items()) for labels in rarest)


def _selector(item: Item) -> tuple[Object, str]:
    if item.file.part is not Part.MANIFESTS:
        return {}, ""
    if item.ref.kind == "Service" and not item.ref.group and item.spec.get("type") != "ExternalName":
        return _without_controller_labels(fields(item.spec.get("selector"))), "/spec/selector"
    if item.ref.kind == "PodDisruptionBudget" and not dig(item.spec, "selector", "matchExpressions"):
        return _without_controller_labels(
            fields(dig(item.spec, "selector", "matchLabels"))
        ), "/spec/selector/matchLabels"
    return {}, ""


def _may_create_pods(tree: Tree, item: Item) -> bool:
    """Is it a custom resource for which an operator may create Pods with any labels?"""
    return tree.is_custom(item.ref) and item.ref.kind not in _NO_PODS and item.ref.group != "argoproj.io"


_NO_PODS = ("ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "ExternalSecret", "SealedSecret")


def _without_controller_labels(selector: Object) -> Object:
    """The selector without labels that controllers set on each Pod."""
    return {key: value for key, value in selector.items() if key not in _SET_BY_CONTROLLERS}


_SET_BY_CONTROLLERS = (
    "apps.kubernetes.io/pod-index", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name",
    "controller-revision-hash", "job-name", "pod-template-hash", "rollouts-pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
)  # fmt: skip


def _intended_workload(unit: Unit, item: Item, selector: Object) -> tuple[Item | None, bool]:
    """The workload that the selector is probably meant for, and whether that is certain.

    It has all labels of the selector with other values: a missing label may be added at run time.
    """
    candidates: list[Item] = []
    for other in unit.items:
        labels = pod_labels_of(other)
        if not labels or not labels.keys() >= selector.keys():
            continue
        if item.ref.namespace and other.ref.namespace not in ("", item.ref.namespace):
            continue
        differing = [key for key in selector if selector[key] != labels[key]]
        are_similar = all(
            get_close_matches(str(selector[key]), [str(labels[key])], 1, 0.8) for key in differing
        )
        if other.ref.name == item.ref.name or are_similar:
            return other, True
        candidates.append(other)
    return (candidates[0], False) if len(candidates) == 1 else (None, False)


def _labels_text(labels: Object) -> str:
    return ", ".join(f"{key}={value}" for key, value in list(labels.items())[:4])
