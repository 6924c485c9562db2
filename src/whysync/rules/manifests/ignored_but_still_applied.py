"""An ignore rule without `RespectIgnoreDifferences=true`, or that option without a rule.

## Why
Without the option an ignored field is not compared, but every sync still writes the value that Git has: it
undoes what the autoscaler or the operator wrote.

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


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="ignore-not-respected", since="0.2")
def ignored_but_still_applied(tree: Tree) -> Iterator[Finding]:
    """Only where the files show that Git really has the field: what Git leaves out, no sync writes."""
    for unit in tree.units:
        if unit.app is None or _RESPECT in items(dig(unit.app.spec, "syncPolicy", "syncOptions")):
            continue
        app = unit.app
        for number, raw in enumerate(items(app.spec.get("ignoreDifferences"))):
            for pointer, item in _written(fields(raw), unit.items):
                at = f"{app.at}/ignoreDifferences/{number}"
                option = Add(pointer=f"{app.at}/syncPolicy/syncOptions", value=_RESPECT)
                yield finding(
                    app.item,
                    f"{pointer} of {item.ref} is ignored, but each sync writes what Git has",
                    field=at,
                    hint=f"leave the field out of Git, or add {_RESPECT}",
                    fix=Fix.change(app.item.ref, option, title=f"Add {_RESPECT}"),
                )
                break


def _written(rule: Object, objects: tuple[Item, ...]) -> Iterator[tuple[str, Item]]:
    for given in items(rule.get("jsonPointers")):
        pointer = text(given)
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
