"""A sync option of an Application that Argo CD does not know.

## Why
Options are case-sensitive, and Argo CD silently ignores a misspelled one.

## Bad
```yaml
syncPolicy:
  syncOptions:
    - CreateNamespaces=true
```

## Good
```yaml
syncPolicy:
  syncOptions:
    - CreateNamespace=true
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig, items, text
from whysync.manifests.argocd_annotations import SYNC_OPTIONS, with_correct_case
from whysync.manifests.files import finding
from whysync.manifests.similar_names import near
from whysync.manifests.tree import Tree


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="unknown-sync-option", since="0.1")
def unknown_sync_option(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        for number, raw in enumerate(items(dig(app.spec, "syncPolicy", "syncOptions"))):
            option = text(raw)
            if not option or option in SYNC_OPTIONS or "{{" in option:
                continue
            similar = with_correct_case(option, SYNC_OPTIONS) or near(option, SYNC_OPTIONS)
            pointer = f"{app.at}/syncPolicy/syncOptions/{number}"
            fix = (
                Fix.change(app.item.ref, Set(pointer=pointer, value=similar), title=f"Change it to {similar}")
                if similar
                else None
            )
            yield finding(
                app.item,
                f"Argo CD has no sync option {option}: it is ignored",
                field=pointer,
                hint=f"did you mean {similar}?" if similar else "",
                fix=fix,
            )
