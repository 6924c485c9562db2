"""A workload sets replicas although an autoscaler scales it.

## Why
Every sync writes the number from Git, and the autoscaler writes its own again: the app is OutOfSync minutes
after each sync, and each sync starts or stops Pods.

## Bad
```yaml
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
---
kind: HorizontalPodAutoscaler
spec:
  scaleTargetRef: {kind: Deployment, name: web}
```

## Good
```yaml
kind: Deployment
metadata: {name: web}
spec: {}   # no replicas: the autoscaler owns them
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Remove
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import fields, items, text
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.tree import Tree

_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="controller-owned", since="0.1")
def replicas_owned_by_autoscaler(tree: Tree) -> Iterator[Finding]:
    ignored = _ignored_kinds(tree)
    scaled = () if "*" in ignored else tuple(kind for kind in _SCALED if kind not in ignored)
    for kind, target in (("HorizontalPodAutoscaler", "scaleTargetRef"), ("ScaledObject", "scaleTargetRef")):
        for scaler in tree.of_kind(kind):
            ref = fields(scaler.spec.get(target))
            name = text(ref.get("name"))
            if not name or scaler.file.part is not Part.MANIFESTS:
                continue
            for item in tree.named(text(ref.get("kind"), "Deployment"), name, scaler.ref.namespace):
                if item.ref.kind not in scaled or item.spec.get("replicas") is None:
                    continue
                if item.spec.get("replicas") == 0 or not _belong_together(scaler, item):
                    continue
                yield finding(
                    item,
                    f"{item.ref.kind} {name} sets replicas, but {scaler.ref} scales it",
                    field="/spec/replicas",
                    hint="remove spec.replicas: the autoscaler owns it",
                    fix=Fix.change(
                        item.ref,
                        Remove(pointer="/spec/replicas"),
                        title="Remove replicas: the autoscaler owns it",
                    ),
                )


def _belong_together(scaler: Item, item: Item) -> bool:
    """Are both in one folder? Folders of examples may have unrelated objects of the same name."""
    return scaler.file.folder == item.file.folder or (scaler.kustomized and item.kustomized)


def _ignored_kinds(tree: Tree) -> set[str]:
    """Kinds whose replicas an Application in the files ignores."""
    kinds: set[str] = set()
    for app in tree.app_specs:
        for ignored in map(fields, items(app.spec.get("ignoreDifferences"))):
            expressions = " ".join(map(text, items(ignored.get("jqPathExpressions"))))
            if "/spec/replicas" in items(ignored.get("jsonPointers")) or ".spec.replicas" in expressions:
                kinds.add(text(ignored.get("kind")))
    return kinds
