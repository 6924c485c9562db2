"""A HorizontalPodAutoscaler references a workload that is not in the files.

## Why
The autoscaler scales nothing, and its health in Argo CD is Degraded: `the HPA controller was unable to get
the target's current scale`.

## Bad
```yaml
kind: HorizontalPodAutoscaler
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: wep}
```

## Good
```yaml
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import fields, text
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import Tree

_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="dependency-missing", since="0.1")
def autoscaler_target_missing(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("HorizontalPodAutoscaler"):
        target = fields(item.spec.get("scaleTargetRef"))
        kind, name, namespace = text(target.get("kind")), text(target.get("name")), item.ref.namespace
        if item.file.part is not Part.MANIFESTS or not name or kind not in _SCALED or "{" in name:
            continue
        if tree.named(kind, name, namespace) or tree.lives_outside(kind, name, namespace):
            continue
        others = [other for other in _SCALED if tree.named(other, name, namespace)]
        similar = tree.similar_name(kind, name)
        if others:
            hint = f"there is a {others[0]} with this name"
        else:
            hint = (
                f"did you mean {similar}?" if similar else "if it is not in Git, declare it in .whysync.yaml"
            )
        yield finding(
            item,
            f"the autoscaler's target {kind} {name} is not in the files",
            field="/spec/scaleTargetRef/name",
            hint=hint,
            severity=Severity.WARNING if others or similar else Severity.INFO,
        )
