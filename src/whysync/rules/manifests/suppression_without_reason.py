"""A suppression without a reason, or for an unknown check, has no effect.

## Why
Whoever reads the file next should know why it is right. And a misspelt check would hide nothing, unseen.

## Bad
```yaml
image: web:latest  # whysync: ignore image_without_fixed_tag
```

## Good
```yaml
image: web:latest  # whysync: ignore image_without_fixed_tag built on the developer's machine
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import MANIFESTS, Layer, rule, rules_in
from whysync.kubernetes.api.pointer import join
from whysync.manifests.files import finding
from whysync.manifests.suppressions import ANNOTATION, ignores_in, ignores_of
from whysync.manifests.tree import Tree


@rule(layer=Layer.LINT, severity=Severity.WARNING, cause="suppression", since="0.2")
def suppression_without_reason(tree: Tree) -> Iterator[Finding]:
    known = {rule.id for rule in rules_in(MANIFESTS)}
    for file in tree.files:
        for bad in ignores_in(file, known)[1]:
            yield finding(file, f"this suppression does not count: {bad.why}", line=bad.line)
    for item in tree.items:
        for bad in ignores_of(item, 0, 0, known)[1]:
            said = f"this suppression does not count: {bad.why}"
            yield finding(item, said, field=join(("metadata", "annotations", ANNOTATION)))
