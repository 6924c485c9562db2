"""A field in Git that only the cluster sets.

## Why
The manifest was copied from a cluster. The API server refuses to create an object with a `resourceVersion`,
and to update one whose `resourceVersion` or `uid` differs; server-side apply refuses `managedFields`. It
ignores `creationTimestamp` and `status`, which only confuse readers.

## Bad
```yaml
metadata:
  name: web
  resourceVersion: "48211"
  uid: 0b7c1f0e-6f0f-4f0c-9f43-3b1d0a7c5a11
```

## Good
```yaml
metadata:
  name: web
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import Tree

_REFUSED = {
    "resourceVersion": "the API server refuses to create an object with it, or to update another version",
    "uid": "the API server refuses to update an object with another uid",
    "managedFields": "server-side apply refuses it",
}
_CRD = "CustomResourceDefinition"


@rule(layer=Layer.GITOPS, severity=Severity.WARNING, cause="schema-invalid", since="0.1")
def server_field_in_git(tree: Tree) -> Iterator[Finding]:
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS:
            continue
        for name, why in _REFUSED.items():
            if item.meta.get(name):
                yield finding(
                    item, f"metadata.{name} is in Git: {why}", field=f"/metadata/{name}", hint="remove it"
                )
        if item.meta.get("creationTimestamp"):
            yield finding(
                item,
                "metadata.creationTimestamp is in Git, but only the cluster sets it",
                field="/metadata/creationTimestamp",
                severity=Severity.INFO,
                hint="remove it",
            )
        # Generators write the status of a CRD.
        if item.body.get("status") and item.ref.kind != _CRD:
            yield finding(
                item,
                "status is in Git, but only controllers set it",
                field="/status",
                severity=Severity.INFO,
                hint="remove it",
            )
