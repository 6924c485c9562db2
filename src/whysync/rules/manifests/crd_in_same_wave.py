"""A custom resource is applied in the same wave as its CRD, or in an earlier one.

## Why
In an earlier wave it cannot be created: `no matches for kind`. In the same wave Argo CD applies the CRD
first, but its controller may not be running yet: webhooks reject requests, defaults are missing, and on an
empty cluster the first sync often needs a retry.

## Bad
```yaml
kind: CustomResourceDefinition   # wave 0
---
apiVersion: example.com/v1
kind: Widget                     # wave 0
```

## Good
```yaml
kind: CustomResourceDefinition
metadata:
  annotations: {argocd.argoproj.io/sync-wave: "-1"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import sync_phases
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig, text
from whysync.manifests.files import Item, finding
from whysync.manifests.tree import Tree
from whysync.queries.sync_position import comes_before


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="missing-crd", since="0.1")
def crd_in_same_wave(tree: Tree) -> Iterator[Finding]:
    for unit in tree.units:
        definitions: dict[tuple[str, str], Item] = {}
        for item in unit.items:
            if item.ref.kind == "CustomResourceDefinition":
                definitions[text(item.spec.get("group")), text(dig(item.spec, "names", "kind"))] = item
        if not definitions:
            continue
        reported: set[tuple[str, bool]] = set()
        for item in unit.items:
            crd = definitions.get((item.ref.group, item.ref.kind))
            if crd is None or not sync_phases(item.body) or comes_before(crd, item):
                continue
            is_before_crd = comes_before(item, crd)
            if (crd.ref.name, is_before_crd) in reported:  # one finding per CRD
                continue
            reported.add((crd.ref.name, is_before_crd))
            where = "before" if is_before_crd else "in the same wave as"
            yield finding(
                item,
                f"{item.ref} is applied {where} its CRD {crd.ref.name}",
                field="/kind",
                hint="put the CRD in an earlier wave",
                severity=Severity.WARNING if is_before_crd else Severity.INFO,
            )
