"""A file, or the folder of an Application, declares the same object twice.

## Why
Argo CD shows RepeatedResourceWarning and applies one of them, the last; the other is lost.

## Bad
```yaml
kind: ConfigMap
metadata: {name: settings}
---
kind: ConfigMap
metadata: {name: settings}
```

## Good
One of them, with all that both say.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.kubernetes.api.ref import Key
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="duplicate-resource", since="0.2")
def repeated_resource(tree: Tree) -> Iterator[Finding]:
    seen: dict[tuple[str, Key], Item] = {}
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS or not item.ref.name:
            continue
        first = seen.setdefault((item.file.path, item.key), item)
        if first is not item:
            yield finding(item, f"{item.ref} is declared twice in this file", field="/metadata/name")
    for unit in tree.units:
        if unit.app is None or any(item.kustomized for item in unit.items):
            continue
        known: dict[Key, Item] = {}
        for item in unit.items:
            first = known.setdefault(item.key, item)
            if first.file is not item.file and item.ref.name:
                said = f"{item.ref} of Application {unit.name} is declared in {first.file.path} too"
                yield finding(item, said, field="/metadata/name")
