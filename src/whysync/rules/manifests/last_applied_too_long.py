"""An object that is too large for client-side apply.

## Why
A client-side apply stores the whole object in an annotation, and annotations are limited to 262144 bytes:
the sync fails with `metadata.annotations: Too long`. Large CRDs and ConfigMaps need server-side apply.

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

_MAX_BYTES = 262_144
_WITHOUT_ANNOTATION = ("ServerSideApply=true", "Replace=true")


@rule(layer=Layer.GITOPS, severity=Severity.CRITICAL, cause="annotation-too-long", since="0.1")
def last_applied_too_long(tree: Tree) -> Iterator[Finding]:
    seen: set[str] = set()
    for unit in tree.units:
        if unit.app is None:
            continue
        sync_options = items(dig(unit.app.spec, "syncPolicy", "syncOptions"))
        if any(option in sync_options for option in _WITHOUT_ANNOTATION):
            continue
        for item in unit.items:
            # A file is about as long as its objects, so most need not be encoded.
            if len(item.file.text) < _MAX_BYTES // 2 or f"{item.ref}{item.file.path}" in seen:
                continue
            if any(option in options(item.body, SYNC_OPTIONS) for option in _WITHOUT_ANNOTATION):
                continue
            size = len(msgspec.json.encode(_applied_body(item)))
            if size > _MAX_BYTES:
                seen.add(f"{item.ref}{item.file.path}")
                yield finding(
                    item,
                    f"{item.ref} has {size:,} bytes, more than client-side apply can store ({_MAX_BYTES:,})",
                    hint=f"{SYNC_OPTIONS}: ServerSideApply=true",
                    fix=Fix.change(
                        item.ref, with_options(item, _WITHOUT_ANNOTATION[0]), title="Use server-side apply"
                    ),
                )


def _applied_body(item: Item) -> dict[str, object]:
    """The object as stored in the annotation, without its status."""
    return {key: value for key, value in item.body.items() if key != "status"}
