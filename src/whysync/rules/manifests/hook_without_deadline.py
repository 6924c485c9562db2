"""A hook Job without a deadline may run forever.

## Why
A sync waits for its hooks. One that hangs keeps the operation Running, and no later commit is synced until
somebody terminates it.

## Bad
```yaml
kind: Job
metadata:
  annotations:
    argocd.argoproj.io/hook: PreSync
spec:
  template: {}
```

## Good
```yaml
spec:
  activeDeadlineSeconds: 600
  template: {}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import is_hook, sync_phases
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import finding
from whysync.manifests.pods import pod_spec_of
from whysync.manifests.tree import Tree


@rule(layer=Layer.GITOPS, severity=Severity.INFO, cause="hook-stuck", since="0.2")
def hook_without_deadline(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("Job"):
        if not item.annotations or not is_hook(item.body) or not sync_phases(item.body):
            continue
        if "activeDeadlineSeconds" in item.spec or "activeDeadlineSeconds" in pod_spec_of(item)[0]:
            continue
        yield finding(
            item,
            f"hook Job {item.ref.name or item.meta.get('generateName', '')} has no deadline: "
            "if it hangs, the sync waits for ever",
            field="/spec",
            hint="set spec.activeDeadlineSeconds",
        )
