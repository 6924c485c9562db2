"""An object is applied before another object that it needs.

## Why
Argo CD applies a wave and waits until it is healthy before it starts the next one. A workload whose Secret
is in a later wave never becomes healthy: the later wave is never applied, and the sync hangs.

## Bad
```yaml
kind: Secret
metadata:
  name: db
  annotations: {argocd.argoproj.io/sync-wave: "2"}
---
kind: Deployment   # wave 0, needs Secret db
```

## Good
```yaml
kind: Secret
metadata:
  name: db
  annotations: {argocd.argoproj.io/sync-wave: "-1"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import is_ignored, sync_phases
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import Item, finding
from whysync.manifests.tree import Tree
from whysync.queries.references import references_of
from whysync.queries.sync_position import applied_before, phase_and_wave

_NEEDED = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim")


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="dependency-missing", since="0.1")
def dependency_comes_later(tree: Tree) -> Iterator[Finding]:
    for unit in tree.units:
        if not any(item.annotations for item in unit.items):
            continue
        by_name = {(item.ref.kind, item.ref.name): item for item in unit.items if not is_ignored(item.body)}
        for item in unit.items:
            if not sync_phases(item.body):
                continue
            for needed, pointer in _needs(item, by_name, tree):
                if needed is item or not sync_phases(needed.body) or applied_before(needed, item):
                    continue
                yield finding(
                    item,
                    f"{item.ref} ({phase_and_wave(item)}) needs {needed.ref}, which is applied later "
                    f"({phase_and_wave(needed)})",
                    field=pointer,
                    hint=f"put {needed.ref.kind} {needed.ref.name} in an earlier phase or wave",
                )


def _needs(item: Item, by_name: dict[tuple[str, str], Item], tree: Tree) -> Iterator[tuple[Item, str]]:
    for reference in references_of(item):
        needed = by_name.get((reference.kind, reference.name))
        if needed is None or reference.kind not in _NEEDED:
            continue
        if item.ref.namespace and needed.ref.namespace not in ("", item.ref.namespace):
            continue
        yield needed, reference.pointer
    if not item.ref.namespace or tree.is_namespaced(item.ref) is False:
        return  # the API server ignores the namespace of an object of a cluster-scoped kind
    namespace = by_name.get(("Namespace", item.ref.namespace))
    if namespace is not None and not namespace.ref.group:
        yield namespace, "/metadata/namespace"
