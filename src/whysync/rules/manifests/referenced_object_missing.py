"""A Pod references a Secret, ConfigMap, ServiceAccount or PersistentVolumeClaim that is not in the files.

## Why
Its containers do not start: `CreateContainerConfigError`, a volume that is never mounted, or a ReplicaSet
that is forbidden to create Pods. Declare objects that are not in Git in `.whysync.yaml` under `outside`.

It is a warning if another object has a similar name, else a note: other programs create many Secrets.

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

_KINDS = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim")
_EVERYWHERE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="dependency-missing", since="0.1")
def referenced_object_missing(tree: Tree) -> Iterator[Finding]:
    reported: set[tuple[str, str, str]] = set()
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS:
            continue
        for reference in references_of(item):
            kind, name, namespace = reference.kind, reference.name, item.ref.namespace
            if kind not in _KINDS or not _is_absent(tree, item, reference):
                continue
            similar, elsewhere = tree.similar_name(kind, name), tree.named(kind, name, "")
            if not similar and not elsewhere:
                if (
                    kind,
                    name,
                    namespace,
                ) in reported:  # report an object that another program may create only once
                    continue
                reported.add((kind, name, namespace))
            yield finding(
                item,
                f"{kind} {name} is not in the files",
                field=reference.pointer,
                hint=_hint(similar, elsewhere),
                severity=Severity.WARNING if similar or elsewhere else Severity.INFO,
            )


def _is_absent(tree: Tree, item: Item, reference: Reference) -> bool:
    kind, name, namespace = reference.kind, reference.name, item.ref.namespace
    if (kind, name) in _EVERYWHERE or "{" in name or "$" in name or "<" in name:
        return False
    if tree.named(kind, name, namespace) or tree.may_be_generated(kind, name):
        return False
    if tree.lives_outside(kind, name, namespace) or (kind == "Secret" and name in tree.created_secrets):
        return False
    # A StatefulSet creates claims from its own templates.
    templates = items(item.spec.get("volumeClaimTemplates")) if item.ref.kind == "StatefulSet" else []
    return kind != "PersistentVolumeClaim" or not templates


def _hint(similar: str, elsewhere: list[Item]) -> str:
    if elsewhere:
        return f"there is one in namespace {elsewhere[0].ref.namespace}"
    return f"did you mean {similar}?" if similar else "if it is not in Git, declare it in .whysync.yaml"
