"""An ignore rule without `RespectIgnoreDifferences=true`.

## Why
Without the option an ignored field is not compared, but every sync still writes Git's value and overwrites
the value of the autoscaler or operator.

## Bad
```yaml
ignoreDifferences:
  - {group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}
syncPolicy:
  automated: {}
```

## Good
```yaml
syncPolicy:
  automated: {}
  syncOptions: [RespectIgnoreDifferences=true]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Add, Fix
from whysync.diagnosis.rule import Layer, rule
from whysync.golang.glob import glob_match
from whysync.json_tree import Missing, Object, dig, fields, items, text
from whysync.manifests.files import Item, finding
from whysync.manifests.tree import Tree

_RESPECT = "RespectIgnoreDifferences=true"


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-not-respected", since="0.1")
def ignored_but_still_applied(tree: Tree) -> Iterator[Finding]:
    """Only for fields that the files declare: a sync does not write what Git leaves out."""
    for unit in tree.units:
        if unit.app is None or _RESPECT in items(dig(unit.app.spec, "syncPolicy", "syncOptions")):
            continue
        app = unit.app
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            for pointer, item in _declared_fields(fields(raw), unit.items):
                at = f"{app.at}/ignoreDifferences/{number}"
                option = Add(pointer=f"{app.at}/syncPolicy/syncOptions", value=_RESPECT)
                yield finding(
                    app.item,
                    f"{pointer} of {item.ref} is ignored, but each sync still writes Git's value",
                    field=at,
                    hint=f"remove the field from Git, or add {_RESPECT}",
                    fix=Fix.change(app.item.ref, option, title=f"Add {_RESPECT}"),
                )
                break


def _declared_fields(rule: Object, objects: tuple[Item, ...]) -> Iterator[tuple[str, Item]]:
    for raw in items(rule.get("jsonPointers")):
        pointer = text(raw)
        if not pointer.startswith("/") or len(pointer) < 2:
            continue
        for item in objects:
            if not glob_match(text(rule.get("kind")), item.ref.kind):
                continue
            if not glob_match(text(rule.get("group")), item.ref.group):
                continue
            if rule.get("name") not in (None, "", item.ref.name):
                continue
            if not isinstance(item.at(pointer), Missing):
                yield pointer, item
