"""A manifest is not valid YAML.

## Why
Argo CD cannot read the file either: the whole Application gets a ComparisonError, not only this object.

## Bad
```yaml
metadata:
  name: web
   labels: {}
```

## Good
```yaml
metadata:
  name: web
  labels: {}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.SYNTAX, severity=Severity.CRITICAL, cause="invalid-yaml", since="0.1")
def manifest_yaml_invalid(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        for broken in file.broken:
            message = f"invalid YAML: {broken.problem}"
            yield finding(file, message, line=broken.line or 1, column=broken.column)
