"""An object without apiVersion, kind or name.

## Why
Argo CD cannot identify the object and rejects the whole folder.

## Bad
```yaml
kind: ConfigMap
metadata:
  name: settings
```

## Good
```yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Json, fields, text
from whysync.manifests.files import File, Part, finding
from whysync.manifests.schemas.built_in import is_served
from whysync.manifests.tree import Tree

_OF_ARGOCD = ("Application", "ApplicationSet", "AppProject")


@rule(layer=Layer.SYNTAX, severity=Severity.CRITICAL, cause="schema-invalid", since="0.1")
def object_incomplete(tree: Tree) -> Iterator[Finding]:
    for file in tree.files:
        for document in file.documents:
            for message in _missing(document.body, file):
                yield finding(file, message, line=document.line)


def _missing(value: Json, file: File) -> Iterator[str]:
    """The missing fields, if the document is clearly meant to be an object."""
    body = fields(value)
    meta = fields(body.get("metadata"))
    named = bool(text(meta.get("name")) or text(meta.get("generateName")))
    kind, version = text(body.get("kind")), text(body.get("apiVersion"))
    if named and kind and not version and ("spec" in body or "data" in body):
        yield f"{kind} {text(meta.get('name'))} has no apiVersion"
    elif named and version and not kind and ("spec" in body or "data" in body):
        yield f"an object of {version} has no kind"
    elif file.part is Part.MANIFESTS and not named and "spec" in body and _is_object(version, kind):
        yield f"this {kind} has no name"


def _is_object(version: str, kind: str) -> bool:
    """Is it of a known kind? Configuration files look like objects without a name."""
    return is_served(version, kind) or (version == "argoproj.io/v1alpha1" and kind in _OF_ARGOCD)
