"""A value that the API server rejects, or a missing required value.

## Why
The sync fails with this message.

## Bad
```yaml
kind: Service
spec:
  ports:
    - port: 80000
```

## Good
```yaml
kind: Service
spec:
  ports:
    - port: 8000
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.facts.masking import Masker
from whysync.manifests.files import finding
from whysync.manifests.schemas.violation import ViolationKind
from whysync.manifests.tree import Tree


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="schema-invalid", since="0.1")
def value_invalid(tree: Tree) -> Iterator[Finding]:
    masker = Masker()
    for item, violation in tree.violations:
        if violation.how is ViolationKind.REJECTED:
            message = masker.masked_text(violation.text)
            if item.ref.kind == "Secret":  # the message may contain the value
                message = (
                    f"{message.partition(':')[0]}: invalid value" if "data" in violation.pointer else message
                )
            yield finding(item, f"the API server rejects it: {message}", field=violation.pointer)
