"""A map contains the same key twice.

## Why
The last one counts, the first is lost without a word; strict parsers refuse the file.

## Bad
```yaml
metadata:
  labels: {app: web}
  labels: {team: shop}
```

## Good
```yaml
metadata:
  labels: {app: web, team: shop}
```
"""

from __future__ import annotations

import re

from whysync.diagnosis.finding import Severity
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import Remark
from whysync.manifests.tree import Tree

_LINE = re.compile(r"line (\d+)")


@check(Layer.SYNTAX, Severity.WARNING)
def duplicate_key(tree: Tree) -> Found:
    for file in tree.files:
        for document in file.documents:
            for warning in document.warnings:
                found = _LINE.search(warning)
                line = int(found.group(1)) if found and len(found.group(1)) < 9 else document.line
                words = re.sub(r"^(?:yaml: |json: )?(?:unmarshal errors:\s*)?line \d+: ", "", warning)
                yield file, Remark(message=words, line=line)
