"""A manifest is not valid YAML.

## Why
Argo CD cannot read the file either: the whole Application goes to ComparisonError, not this object alone.

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

from whysync.diagnosis.finding import Severity
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import Remark
from whysync.manifests.tree import Tree


@check(Layer.SYNTAX, Severity.CRITICAL)
def yaml_invalid(tree: Tree) -> Found:
    for file in tree.files:
        for broken in file.broken:
            yield file, Remark(message=f"this is not valid YAML: {broken.problem}", line=broken.line or 1)
