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

from whysync.diagnosis.finding import Severity
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.tree import Tree


@check(Layer.LINT, Severity.WARNING)
def suppression_without_reason(tree: Tree) -> Found:
    """The runner knows the suppressions, and speaks in the name of this check."""
    del tree
    return ()
