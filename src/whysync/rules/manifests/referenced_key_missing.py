"""A container references a key that the ConfigMap or Secret does not have.

## Why
The container does not start: `CreateContainerConfigError: couldn't find key`.

## Bad
```yaml
kind: ConfigMap
metadata: {name: web}
data: {LOG_LEVEL: info}
---
valueFrom:
  configMapKeyRef: {name: web, key: LOGLEVEL}
```

## Good
```yaml
valueFrom:
  configMapKeyRef: {name: web, key: LOG_LEVEL}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Json, Missing, dig, fields, items, text
from whysync.manifests.files import Item, Part, finding
from whysync.manifests.pods import pod_spec_of
from whysync.manifests.similar_names import near
from whysync.manifests.tree import Tree

_KINDS = (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef"))


class _KeyReference(NamedTuple):
    kind: str
    name: str
    key: str
    pointer: str


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="config-error", since="0.1")
def referenced_key_missing(tree: Tree) -> Iterator[Finding]:
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS or item.kustomized:
            continue
        for reference in _key_references(item):
            owners = tree.named(reference.kind, reference.name, item.ref.namespace)
            known = {key for owner in owners for key in _keys_of(owner)}
            complete = owners and all(
                owner.file.part is Part.MANIFESTS and not owner.kustomized for owner in owners
            )
            # one without any key is filled in by another program
            if not complete or not known or reference.key in known:
                continue
            similar = near(reference.key, known)
            yield finding(
                item,
                f"{reference.kind} {reference.name} has no key {reference.key}",
                field=reference.pointer,
                hint=f"did you mean {similar}?" if similar else f"it has {', '.join(sorted(known)[:5])}",
            )


def _keys_of(owner: Item) -> Iterator[str]:
    for name in ("data", "stringData", "binaryData"):
        yield from fields(owner.body.get(name))


def _key_references(item: Item) -> Iterator[_KeyReference]:
    spec, base = pod_spec_of(item)
    for group in ("initContainers", "containers"):
        for number, container in enumerate(items(spec.get(group))):
            for index, entry in enumerate(items(fields(container).get("env"))):
                at = f"{base}/{group}/{number}/env/{index}/valueFrom"
                yield from _references_in(dig(entry, "valueFrom"), at)


def _references_in(value: Json | Missing, at: str) -> Iterator[_KeyReference]:
    for kind, name in _KINDS:
        ref = fields(fields(value).get(name))
        if ref.get("optional") is not True and text(ref.get("name")) and text(ref.get("key")):
            yield _KeyReference(kind, text(ref.get("name")), text(ref.get("key")), f"{at}/{name}/key")
