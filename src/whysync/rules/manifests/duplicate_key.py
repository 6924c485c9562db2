"""A map contains the same key twice.

## Why
The last value is used and the first is silently lost; strict parsers reject the file.

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
from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree

_LINE = re.compile(r"line (\d+)")


@rule(layer=Layer.SYNTAX, severity=Severity.WARNING, cause="invalid-yaml", since="0.1")
def duplicate_key(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        for document in file.documents:
            for warning in document.warnings:
                match = _LINE.search(warning)
                line = int(match.group(1)) if match and len(match.group(1)) < 9 else document.line
                message = re.sub(r"^(?:yaml: |json: )?(?:unmarshal errors:\s*)?line \d+: ", "", warning)
                yield finding(file, message, line=line)
