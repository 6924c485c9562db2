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
from whysync.kubernetes.api.pointer import resolve
from whysync.manifests.files import Item, finding
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
            severity = Severity.WARNING if _depends_on_cluster(item, violation.pointer) else Severity.CRITICAL
            yield finding(
                item, f"the API server rejects it: {message}", field=violation.pointer, severity=severity
            )


def _depends_on_cluster(item: Item, pointer: str) -> bool:
    """The range of node ports is an option of the API server; 30000-32767 is its default."""
    port = resolve(item.body, pointer)
    is_port = isinstance(port, int) and 0 < port < 1 << 16
    return is_port and item.ref.kind == "Service" and pointer.endswith("/nodePort")
