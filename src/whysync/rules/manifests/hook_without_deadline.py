"""A hook Job without a deadline may run forever.

## Why
A sync waits for its hooks. A hook that hangs keeps the operation Running, and no later commit is synced until
someone terminates the operation.

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
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.rule import DesiredObjects, Layer, Scope, Topic, rule
from whysync.json_tree import Missing
from whysync.manifests.files import finding

_DEADLINES = ("/spec/activeDeadlineSeconds", "/spec/template/spec/activeDeadlineSeconds")


@rule(
    layer=Layer.GITOPS,
    topic=Topic.HOOKS,
    scope=Scope.OBJECTS,
    severity=Severity.INFO,
    cause="hook-stuck",
    since="0.1",
)
def hook_without_deadline(objects: DesiredObjects) -> Iterator[Finding]:
    for manifest in objects.desired:
        if manifest.ref.kind != "Job" or not is_hook(manifest.body) or not sync_phases(manifest.body):
            continue
        if all(isinstance(manifest.at(pointer), Missing) for pointer in _DEADLINES):
            yield finding(
                manifest,
                "the hook has no deadline: if it hangs, the sync never finishes",
                field="/spec",
                hint="set spec.activeDeadlineSeconds",
                fix=Fix.change(
                    manifest.ref,
                    Set(pointer=_DEADLINES[0], value=600),
                    title="Set a deadline of 10 minutes",
                    risk="a longer run is terminated",
                ),
                severity=Severity.INFO,
            )
