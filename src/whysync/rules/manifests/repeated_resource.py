"""A file, or the folder of an Application, declares the same object twice.

## Why
Argo CD reports RepeatedResourceWarning and applies only the last one.

## Bad
```yaml
kind: ConfigMap
metadata: {name: settings}
---
kind: ConfigMap
metadata: {name: settings}
```

## Good
One object with the content of both.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.kubernetes.api.ref import Key
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="duplicate-resource", since="0.1")
def repeated_resource(tree: Tree) -> Iterator[Finding]:
    first_in_file: dict[tuple[str, Key], Item] = {}
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS or not item.ref.name:
            continue
        first = first_in_file.setdefault((item.file.path, item.key), item)
        if first is not item:
            yield finding(item, f"{item.ref} is declared twice in this file", field="/metadata/name")
    for unit in tree.units:
        if unit.app is None or any(item.kustomized for item in unit.items):
            continue
        first_by_key: dict[Key, Item] = {}
        for item in unit.items:
            first = first_by_key.setdefault(item.key, item)
            if first.file is not item.file and item.ref.name:
                message = f"{item.ref} of Application {unit.name} is also declared in {first.file.path}"
                yield finding(item, message, field="/metadata/name")
