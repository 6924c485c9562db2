"""A suppression without a reason, or for an unknown check, has no effect.

## Why
The reason tells the next reader why the finding is accepted. A misspelled check name suppresses nothing.

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


@rule(layer=Layer.LINT, severity=Severity.WARNING, cause="suppression", since="0.1")
def suppression_without_reason(tree: Tree) -> Iterator[Finding]:
    known = {rule.id for rule in rules_in(MANIFESTS)}
    for file in tree.files:
        for bad in ignores_in(file, known)[1]:
            yield finding(file, f"the suppression has no effect: {bad.why}", line=bad.line)
    for item in tree.items:
        for bad in ignores_of(item, known)[1]:
            message = f"the suppression has no effect: {bad.why}"
            yield finding(item, message, field=join(("metadata", "annotations", ANNOTATION)))
