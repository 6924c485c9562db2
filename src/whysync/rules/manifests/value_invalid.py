"""A value that the API server refuses, or a missing required value.

## Why
The sync fails with exactly these words.

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


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="schema-invalid", since="0.2")
def value_invalid(tree: Tree) -> Iterator[Finding]:
    masker = Masker()
    for item, misfit in tree.misfits:
        if misfit.how is ViolationKind.REFUSED:
            said = masker.masked_text(misfit.text)
            if item.ref.kind == "Secret":  # a value may be in the words
                said = (
                    f"{said.partition(':')[0]}: this value is refused" if "data" in misfit.pointer else said
                )
            yield finding(item, f"the API server refuses it: {said}", field=misfit.pointer)
