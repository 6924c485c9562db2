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

import msgspec

from whysync.argocd.hooks import SYNC_OPTIONS, options
from whysync.diagnosis.finding import Severity
from whysync.json_tree import dig, items
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.files import Item
from whysync.manifests.remark import AutoFix, Remark
from whysync.manifests.tree import Tree
from whysync.queries.sync_options import with_options

_LONGEST = 262_144
_OTHER_WAYS = ("ServerSideApply=true", "Replace=true")


@check(Layer.GITOPS, Severity.CRITICAL)
def object_too_large_to_apply(tree: Tree) -> Found:
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
                yield (
                    item,
                    Remark(
                        message=f"{item.ref} has {size:,} bytes, more than a client-side apply can keep "
                        f"({_LONGEST:,})",
                        hint=f"{SYNC_OPTIONS}: ServerSideApply=true",
                        mend=AutoFix(
                            title="Apply it on the server", edits=(with_options(item, _OTHER_WAYS[0]),)
                        ),
                    ),
                )


def _sent(item: Item) -> dict[str, object]:
    """What the annotation would hold; a status is part of it."""
    return {key: value for key, value in item.body.items() if key != "status"}
