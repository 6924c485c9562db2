"""An object that contains data is pruned when it is removed from Git.

## Why
The Application prunes automatically: a renamed file or a wrong path in Git deletes the
PersistentVolumeClaim and its data. Deleting a Namespace or a CRD also deletes everything in it.

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


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="prunable-data", since="0.1")
def critical_resource_prunable(tree: Tree) -> Iterator[Finding]:
    for unit in tree.units:
        if unit.app is None or dig(unit.app.spec, "syncPolicy", "automated", "prune") is not True:
            continue
        sync_options = items(dig(unit.app.spec, "syncPolicy", "syncOptions"))
        if any(option in ("Prune=false", "Prune=confirm") for option in sync_options):
            continue
        for item in unit.items:
            lost = LOST_WITH.get(item.ref.kind)
            if lost is None or keeps_from_pruning(item.body):
                continue
            yield finding(
                item,
                f"Application {unit.name} prunes {item.ref} if it is removed from Git,"
                f" which also deletes {lost}",
                field="/metadata/name",
                hint=f"annotate it with {SYNC_OPTIONS}: Prune=false",
                severity=Severity.WARNING if item.ref.kind.startswith("Persistent") else Severity.INFO,
                fix=Fix.change(item.ref, with_options(item, "Prune=false"), title="Exclude it from pruning"),
            )
