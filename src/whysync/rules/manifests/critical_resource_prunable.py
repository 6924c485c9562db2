"""An object that contains data is pruned when it is removed from Git.

## Why
The Application prunes by itself: a renamed file or a wrong path in Git deletes the claim, and its data too.
The same goes for a Namespace and a CRD, which take along all that they hold.

## Bad
```yaml
kind: PersistentVolumeClaim
metadata: {name: data}
```

## Good
```yaml
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations:
    argocd.argoproj.io/sync-options: Prune=false
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import SYNC_OPTIONS
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig, items
from whysync.manifests.files import finding
from whysync.manifests.tree import Tree
from whysync.queries.sync_options import LOST_WITH, keeps_from_pruning, with_options


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="prunable-data", since="0.2")
def critical_resource_prunable(tree: Tree) -> Iterator[Finding]:
    for unit in tree.units:
        if unit.app is None or dig(unit.app.spec, "syncPolicy", "automated", "prune") is not True:
            continue
        told = items(dig(unit.app.spec, "syncPolicy", "syncOptions"))
        if any(option in ("Prune=false", "Prune=confirm") for option in told):
            continue
        for item in unit.items:
            lost = LOST_WITH.get(item.ref.kind)
            if lost is None or keeps_from_pruning(item.body):
                continue
            yield finding(
                item,
                f"Application {unit.name} prunes {item.ref} when it leaves Git: {lost} goes too",
                field="/metadata/name",
                hint=f"annotate it with {SYNC_OPTIONS}: Prune=false",
                severity=Severity.WARNING if item.ref.kind.startswith("Persistent") else Severity.INFO,
                fix=Fix.change(
                    item.ref, with_options(item, "Prune=false"), title="Keep it from being pruned"
                ),
            )
