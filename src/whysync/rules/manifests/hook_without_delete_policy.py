"""A hook without a delete policy.

## Why
A hook with a fixed name stays in the cluster until the next sync replaces it. With `generateName` every sync
creates another object that is never deleted.

## Bad
```yaml
metadata:
  generateName: migrate-
  annotations:
    argocd.argoproj.io/hook: PreSync
```

## Good
```yaml
metadata:
  generateName: migrate-
  annotations:
    argocd.argoproj.io/hook: PreSync
    argocd.argoproj.io/hook-delete-policy: HookSucceeded
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.hooks import HELM_HOOK, HOOK, is_hook, is_skipped
from whysync.argocd.hooks.annotations import HELM_HOOK_DELETE_POLICY, HOOK_DELETE_POLICY
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.rule import DesiredObjects, Layer, Scope, Topic, rule
from whysync.kubernetes.api.pointer import join
from whysync.manifests.files import finding


@rule(
    layer=Layer.GITOPS,
    topic=Topic.HOOKS,
    scope=Scope.OBJECTS,
    severity=Severity.WARNING,
    cause="hook-leftover",
    since="0.1",
)
def hook_without_delete_policy(objects: DesiredObjects) -> Iterator[Finding]:
    for manifest in objects.desired:
        annotations = manifest.annotations
        if HOOK not in annotations and HELM_HOOK not in annotations:
            continue
        if HOOK_DELETE_POLICY in annotations or HELM_HOOK_DELETE_POLICY in annotations:
            continue
        if not is_hook(manifest.body) or is_skipped(manifest.body):
            continue
        accumulates = not manifest.ref.name and bool(manifest.meta.get("generateName"))
        pointer = join(("metadata", "annotations", HOOK_DELETE_POLICY))
        policy = "HookSucceeded" if accumulates else "BeforeHookCreation"
        yield finding(
            manifest,
            "each sync creates another object of this hook, which is never deleted"
            if accumulates
            else "the hook has no delete policy: it stays in the cluster until the next sync",
            field=join(("metadata", "annotations", HOOK if HOOK in annotations else HELM_HOOK)),
            hint=f"set {HOOK_DELETE_POLICY}: {policy}",
            severity=Severity.WARNING if accumulates else Severity.INFO,
            fix=Fix.change(
                manifest.ref,
                Set(pointer=pointer, value=policy),
                title=f"Set the delete policy {policy}",
                keeps_meaning=not accumulates,
            ),
        )
