"""A value of the wrong type.

## Why
The API server cannot decode the object, and the sync fails. Most often it is a number or `true` where a
string is wanted, as in annotations, labels and environment variables: there it needs quotes.

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


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="schema-invalid", since="0.2")
def value_of_wrong_type(tree: Tree) -> Iterator[Finding]:
    for item, misfit in tree.misfits:
        if misfit.how is ViolationKind.TYPE:
            quoted = isinstance(misfit.value, str)
            yield finding(
                item,
                misfit.text,
                field=misfit.pointer,
                hint="put it in quotes" if quoted else "",
                fix=_fix(item, misfit),
            )


def _fix(item: Item, misfit: SchemaViolation) -> Fix | None:
    """Safe where the text of the file has the very letters: `0777` or `1_000` say something else as text."""
    if isinstance(misfit.value, Missing):
        return None
    given = resolve(item.body, misfit.pointer)
    written = str(given).lower() if isinstance(given, bool) else str(given)
    name = misfit.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    plain = f"{name}: {written}" in item.file.text and not isinstance(given, float)
    title = "Put it in quotes" if isinstance(misfit.value, str) else "Take the quotes off"
    return Fix.change(
        item.ref, Set(pointer=misfit.pointer, value=misfit.value), title=title, keeps_meaning=plain
    )
