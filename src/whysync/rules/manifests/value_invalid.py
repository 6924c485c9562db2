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

from whysync.diagnosis.finding import Severity
from whysync.facts.masking import Masker
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import Remark
from whysync.manifests.schemas.violation import ViolationKind
from whysync.manifests.tree import Tree


@check(Layer.SCHEMA, Severity.CRITICAL)
def value_invalid(tree: Tree) -> Found:
    masker = Masker()
    for item, misfit in tree.misfits:
        if misfit.how is ViolationKind.REFUSED:
            said = masker.masked_text(misfit.text)
            if item.ref.kind == "Secret":  # a value may be in the words
                said = (
                    f"{said.partition(':')[0]}: this value is refused" if "data" in misfit.pointer else said
                )
            yield item, Remark(message=f"the API server refuses it: {said}", field=misfit.pointer)
