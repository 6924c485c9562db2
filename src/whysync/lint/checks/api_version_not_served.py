"""An apiVersion that Kubernetes has removed, or a kind that its group does not have.

## Why
No such resource is served: the sync fails with `no matches for kind`, or the app cannot be compared at all.

## Bad
```yaml
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
```

## Good
```yaml
apiVersion: policy/v1
kind: PodDisruptionBudget
```
"""

from __future__ import annotations

from difflib import get_close_matches

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.removed_apis import removal_of
from whysync.lint.check import Found, Layer, check
from whysync.lint.configuration import version_pair
from whysync.lint.remark import Remark
from whysync.lint.schemas.built_in import is_built_in, is_served, kinds_of, served_versions
from whysync.lint.tree import Tree


@check(Layer.SCHEMA, Severity.CRITICAL)
def api_version_not_served(tree: Tree) -> Found:
    target = tree.configuration.kubernetes
    for item in tree.items:
        ref = item.ref
        if is_served(ref.api_version, ref.kind):
            continue
        removed = removal_of(ref.api_version, ref.kind)
        if removed is not None:
            if target and version_pair(target) < version_pair(removed):
                continue
            now = served_versions(ref.kind, ref.group)
            said = f"Kubernetes {removed} removed {ref.kind} of {ref.api_version}"
            hint = f"use {now[-1]}" if now else ""
            yield item, Remark(message=said, field="/apiVersion", hint=hint)
        elif not is_built_in(ref.api_version, ref.kind) and ref.name and (known := kinds_of(ref.api_version)):
            near = get_close_matches(ref.kind, known, 1, 0.8)
            hint = f"did you mean {near[0]}?" if near else ""
            yield item, Remark(message=f"{ref.api_version} has no kind {ref.kind}", field="/kind", hint=hint)
        elif (versions := tree.definitions.knows(ref.group, ref.kind)) and ref.version not in versions:
            said = f"the CRD of {ref.kind} does not serve {ref.version}: it has {', '.join(versions)}"
            yield item, Remark(message=said, field="/apiVersion")
