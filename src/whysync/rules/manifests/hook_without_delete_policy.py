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

from whysync.argocd.hooks import HELM_HOOK, HOOK, is_hook
from whysync.argocd.hooks.annotations import HELM_HOOK_DELETE_POLICY, HOOK_DELETE_POLICY
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Set
from whysync.kubernetes.api.pointer import join
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import AutoFix, Remark
from whysync.manifests.tree import Tree


@check(Layer.GITOPS, Severity.WARNING)
def hook_without_delete_policy(tree: Tree) -> Found:
    for item in tree.items:
        marks = item.annotations
        if HOOK not in marks and HELM_HOOK not in marks:
            continue
        if not is_hook(item.body) or HOOK_DELETE_POLICY in marks or HELM_HOOK_DELETE_POLICY in marks:
            continue
        piles_up = not item.ref.name and bool(item.meta.get("generateName"))
        pointer = join(("metadata", "annotations", HOOK_DELETE_POLICY))
        policy = "HookSucceeded" if piles_up else "BeforeHookCreation"
        yield (
            item,
            Remark(
                message="each sync leaves one more run of this hook behind"
                if piles_up
                else "this hook has no delete policy: its last run stays until the next sync",
                field=join(("metadata", "annotations", HOOK if HOOK in marks else HELM_HOOK)),
                hint=f"{HOOK_DELETE_POLICY}: {policy} says when it goes",
                severity=Severity.WARNING if piles_up else Severity.INFO,
                mend=AutoFix(
                    title=f"Say {policy}", edits=(Set(pointer=pointer, value=policy),), safe=not piles_up
                ),
            ),
        )
