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
from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree

_LINE = re.compile(r"line (\d+)")


@rule(layer=Layer.SYNTAX, severity=Severity.WARNING, cause="invalid-yaml", since="0.2")
def duplicate_key(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        for document in file.documents:
            for warning in document.warnings:
                found = _LINE.search(warning)
                line = int(found.group(1)) if found and len(found.group(1)) < 9 else document.line
                words = re.sub(r"^(?:yaml: |json: )?(?:unmarshal errors:\s*)?line \d+: ", "", warning)
                yield finding(file, words, line=line)
