"""A Job with ttlSecondsAfterFinished that is not a hook.

## Why
Kubernetes deletes the finished Job, Argo CD sees it missing: the app is OutOfSync, and with self-heal the Job
runs again, and again.

## Bad
```yaml
kind: Job
spec:
  ttlSecondsAfterFinished: 60
```

## Good
```yaml
kind: Job
metadata:
  annotations:
    argocd.argoproj.io/hook: Sync
    argocd.argoproj.io/hook-delete-policy: HookSucceeded
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import is_any_hook
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import Tree
from whysync.queries.ttl import ttl_pointer


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="ttl-deleted", since="0.2")
def job_deleted_by_ttl(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("Job", "Workflow"):
        pointer = ttl_pointer(item)
        is_piece = item.file.part is not Part.MANIFESTS
        if pointer is None or is_piece or (item.annotations and is_any_hook(item.body)):
            continue
        if not item.ref.name:
            continue  # made by `kubectl create`, never synced
        yield finding(
            item,
            f"{item.ref} is deleted when it is done: then the app is OutOfSync",
            field=pointer,
            hint="make it a hook with a delete policy, or leave the TTL out",
        )
