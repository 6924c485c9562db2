"""A value of the wrong type.

## Why
The API server cannot decode the object, and the sync fails. Usually it is a number or `true` instead of a
string, as in annotations, labels and environment variables: it needs quotes.

## Bad
```yaml
metadata:
  annotations:
    argocd.argoproj.io/sync-wave: 1
```

## Good
```yaml
metadata:
  annotations:
    argocd.argoproj.io/sync-wave: "1"
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import resolve
from whysync.manifests.files import Item, finding
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind
from whysync.manifests.tree import Tree


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="schema-invalid", since="0.1")
def value_of_wrong_type(tree: Tree) -> Iterator[Finding]:
    for item, violation in tree.violations:
        if violation.how is ViolationKind.TYPE:
            quoted = isinstance(violation.value, str)
            yield finding(
                item,
                violation.text,
                field=violation.pointer,
                hint="put it in quotes" if quoted else "",
                fix=_fix(item, violation),
            )


def _fix(item: Item, violation: SchemaViolation) -> Fix | None:
    """Keeps the meaning if the file has the value literally: `0777` and `1_000` differ as strings."""
    if isinstance(violation.value, Missing):
        return None
    value = resolve(item.body, violation.pointer)
    literal = str(value).lower() if isinstance(value, bool) else str(value)
    name = violation.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    plain = f"{name}: {literal}" in item.file.text and not isinstance(value, float)
    title = "Put it in quotes" if isinstance(violation.value, str) else "Remove the quotes"
    return Fix.change(
        item.ref, Set(pointer=violation.pointer, value=violation.value), title=title, keeps_meaning=plain
    )
