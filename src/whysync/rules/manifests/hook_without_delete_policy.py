"""A hook without a delete policy.

## Why
Of a hook with a fixed name, the last run stays until the next sync replaces it. With `generateName` every
sync leaves one more behind, forever.

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
    since="0.2",
)
def hook_without_delete_policy(objects: DesiredObjects) -> Iterator[Finding]:
    for manifest in objects.desired:
        marks = manifest.annotations
        if HOOK not in marks and HELM_HOOK not in marks:
            continue
        if HOOK_DELETE_POLICY in marks or HELM_HOOK_DELETE_POLICY in marks:
            continue
        if not is_hook(manifest.body) or is_skipped(manifest.body):
            continue
        piles_up = not manifest.ref.name and bool(manifest.meta.get("generateName"))
        pointer = join(("metadata", "annotations", HOOK_DELETE_POLICY))
        policy = "HookSucceeded" if piles_up else "BeforeHookCreation"
        yield finding(
            manifest,
            "each sync leaves one more run of this hook behind"
            if piles_up
            else "this hook has no delete policy: its last run stays until the next sync",
            field=join(("metadata", "annotations", HOOK if HOOK in marks else HELM_HOOK)),
            hint=f"{HOOK_DELETE_POLICY}: {policy} says when it goes",
            severity=Severity.WARNING if piles_up else Severity.INFO,
            fix=Fix.change(
                manifest.ref,
                Set(pointer=pointer, value=policy),
                title=f"Say {policy}",
                keeps_meaning=not piles_up,
            ),
        )
