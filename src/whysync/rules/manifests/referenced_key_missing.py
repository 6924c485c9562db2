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


class _Key(NamedTuple):
    kind: str
    name: str
    key: str
    pointer: str


@rule(layer=Layer.REFERENCES, severity=Severity.WARNING, cause="config-error", since="0.2")
def referenced_key_missing(tree: Tree) -> Iterator[Finding]:
    for item in tree.items:
        if item.file.part is not Part.MANIFESTS or item.kustomized:
            continue
        for wanted in _keys(item):
            holders = tree.named(wanted.kind, wanted.name, item.ref.namespace)
            known = {key for holder in holders for key in _held(holder)}
            whole = holders and all(
                holder.file.part is Part.MANIFESTS and not holder.kustomized for holder in holders
            )
            if not whole or wanted.key in known:
                continue
            if not known:  # a shell that something else fills
                continue
            meant = near(wanted.key, known)
            yield finding(
                item,
                f"{wanted.kind} {wanted.name} has no key {wanted.key}",
                field=wanted.pointer,
                hint=f"did you mean {meant}?" if meant else f"it has {', '.join(sorted(known)[:5])}",
            )


def _held(holder: Item) -> Iterator[str]:
    for part in ("data", "stringData", "binaryData"):
        yield from fields(holder.body.get(part))


def _keys(item: Item) -> Iterator[_Key]:
    spec, base = pod_spec_of(item)
    for group in ("initContainers", "containers"):
        for number, container in enumerate(items(spec.get(group))):
            for index, entry in enumerate(items(fields(container).get("env"))):
                at = f"{base}/{group}/{number}/env/{index}/valueFrom"
                yield from _key(dig(entry, "valueFrom"), at)


def _key(value: Json | Missing, at: str) -> Iterator[_Key]:
    for kind, name in _KINDS:
        ref = fields(fields(value).get(name))
        if ref.get("optional") is not True and text(ref.get("name")) and text(ref.get("key")):
            yield _Key(kind, text(ref.get("name")), text(ref.get("key")), f"{at}/{name}/key")
