"""A Pod references a Secret, ConfigMap, ServiceAccount or PersistentVolumeClaim that is not among the files.

## Why
Its containers do not start: `CreateContainerConfigError`, a volume that is never mounted, or a ReplicaSet
that is forbidden to make Pods. What lives outside of Git is declared in `.whysync.yaml` under `outside`.

A warning where another one has almost that name, else a note: many Secrets are made by others.

## Bad
```yaml
kind: ConfigMap
metadata: {name: web-config}
---
kind: Pod
spec:
  volumes:
    - name: config
      configMap: {name: web-conf}
```

## Good
```yaml
      configMap: {name: web-config}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import items
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.tree import Tree
from whysync.queries.references import Reference, references_of

_LOOKED_UP = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim")
_EVERYWHERE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="dependency-missing", since="0.2")
def referenced_object_missing(tree: Tree) -> Iterator[Finding]:
    told: set[tuple[str, str, str]] = set()
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS:
            continue
        for reference in references_of(item):
            kind, name, namespace = reference.kind, reference.name, item.ref.namespace
            if kind not in _LOOKED_UP or not _is_absent(tree, item, reference):
                continue
            meant, elsewhere = tree.near_name(kind, name), tree.named(kind, name, "")
            if not meant and not elsewhere:
                if (kind, name, namespace) in told:  # once is enough for what others may make
                    continue
                told.add((kind, name, namespace))
            yield finding(
                item,
                f"{kind} {name} is not among the files",
                field=reference.pointer,
                hint=_hint(meant, elsewhere),
                severity=Severity.WARNING if meant or elsewhere else Severity.INFO,
            )


def _is_absent(tree: Tree, item: Item, reference: Reference) -> bool:
    kind, name, namespace = reference.kind, reference.name, item.ref.namespace
    if (kind, name) in _EVERYWHERE or "{" in name or "$" in name or "<" in name:
        return False
    if tree.named(kind, name, namespace) or tree.may_be_generated(kind, name):
        return False
    if tree.lives_outside(kind, name, namespace) or (kind == "Secret" and name in tree.made_secrets):
        return False
    # A StatefulSet makes claims from its own templates, whatever the volume of that name says.
    templates = items(item.spec.get("volumeClaimTemplates")) if item.ref.kind == "StatefulSet" else []
    return kind != "PersistentVolumeClaim" or not templates


def _hint(meant: str, elsewhere: list[Item]) -> str:
    if elsewhere:
        return f"there is one in namespace {elsewhere[0].ref.namespace}"
    return f"did you mean {meant}?" if meant else "if it lives outside, say so in .whysync.yaml"
