"""A Job with ttlSecondsAfterFinished that is not a hook.

## Why
Kubernetes deletes the finished Job, and Argo CD reports it as Missing: the app is OutOfSync, and with
self-heal the Job runs in a loop.

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
    argocd.argoproj.io/hook: PostSync
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
from whysync.queries.drift import ttl_pointer


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="ttl-deleted", since="0.1")
def job_deleted_by_ttl(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("Job", "Workflow"):
        pointer = ttl_pointer(item)
        is_piece = item.file.part is not Part.MANIFESTS
        if pointer is None or is_piece or (item.annotations and is_any_hook(item.body)):
            continue
        if not item.ref.name:
            continue  # for `kubectl create`, never synced
        yield finding(
            item,
            f"{item.ref} is deleted after it has finished, which makes the app OutOfSync",
            field=pointer,
            hint="make it a hook with a delete policy, or remove the TTL",
        )
