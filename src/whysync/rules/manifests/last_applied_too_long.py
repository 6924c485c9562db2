"""An object that is too large for client-side apply.

## Why
A client-side apply keeps the whole object in an annotation, and annotations end at 262144 bytes: the sync
fails with `metadata.annotations: Too long`. Large CRDs and ConfigMaps need a server-side apply.

## Bad
```yaml
kind: CustomResourceDefinition   # 400 KB of schema
```

## Good
```yaml
kind: CustomResourceDefinition
metadata:
  annotations:
    argocd.argoproj.io/sync-options: ServerSideApply=true
```
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whysync.argocd.hooks import SYNC_OPTIONS, options
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig, items
from whysync.manifests.files import Item, finding
from whysync.manifests.tree import Tree
from whysync.queries.sync_options import with_options

_LONGEST = 262_144
_OTHER_WAYS = ("ServerSideApply=true", "Replace=true")


@rule(layer=Layer.GITOPS, severity=Severity.CRITICAL, cause="annotation-too-long", since="0.2")
def last_applied_too_long(tree: Tree) -> Iterator[Finding]:
    seen: set[str] = set()
    for unit in tree.units:
        if unit.app is None:
            continue
        told = items(dig(unit.app.spec, "syncPolicy", "syncOptions"))
        if any(way in told for way in _OTHER_WAYS):
            continue
        for item in unit.items:
            # The text of a file is about as long as its objects: most need no closer look.
            if len(item.file.text) < _LONGEST // 2 or f"{item.ref}{item.file.path}" in seen:
                continue
            if any(way in options(item.body, SYNC_OPTIONS) for way in _OTHER_WAYS):
                continue
            size = len(msgspec.json.encode(_sent(item)))
            if size > _LONGEST:
                seen.add(f"{item.ref}{item.file.path}")
                yield finding(
                    item,
                    f"{item.ref} has {size:,} bytes, more than a client-side apply can keep ({_LONGEST:,})",
                    hint=f"{SYNC_OPTIONS}: ServerSideApply=true",
                    fix=Fix.change(
                        item.ref, with_options(item, _OTHER_WAYS[0]), title="Apply it on the server"
                    ),
                )


def _sent(item: Item) -> dict[str, object]:
    """What the annotation would hold; a status is part of it."""
    return {key: value for key, value in item.body.items() if key != "status"}
