"""An Argo CD annotation with an unknown name or an invalid value.

## Why
Argo CD silently ignores it: the object is in wave 0, is not a hook, or is pruned.

## Bad
```yaml
metadata:
  annotations:
    argocd.argoproj.io/syncwave: "1"
    argocd.argoproj.io/hook: Presync
```

## Good
```yaml
metadata:
  annotations:
    argocd.argoproj.io/sync-wave: "1"
    argocd.argoproj.io/hook: PreSync
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whysync.argocd import hooks
from whysync.argocd.hooks.annotations import HOOK_DELETE_POLICY
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Remove, Set
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import text
from whysync.kubernetes.api.pointer import join
from whysync.manifests.argocd_annotations import (
    ANNOTATIONS,
    COMPARE_OPTIONS,
    PREFIX,
    SYNC_OPTIONS,
    with_correct_case,
)
from whysync.manifests.files import Item, finding
from whysync.manifests.similar_names import near
from whysync.manifests.tree import Tree

_LISTS = {
    hooks.HOOK: ("hook type", (*hooks.HookType, *hooks.DeletionHook)),
    HOOK_DELETE_POLICY: ("delete policy", tuple(hooks.DeletePolicy)),
    hooks.SYNC_OPTIONS: ("sync option", SYNC_OPTIONS),
    hooks.COMPARE_OPTIONS: ("compare option", COMPARE_OPTIONS),
}


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="unknown-annotation", since="0.1")
def misspelled_annotation(tree: Tree) -> Iterator[Finding]:
    for item in tree.items:
        for key, value in item.annotations.items():
            if not key.startswith(PREFIX):
                if key.lower().startswith("argocd.argoproj") or key.startswith("argoproj.io/sync"):
                    yield _of_key(item, key)
                continue
            if key not in ANNOTATIONS and not key.startswith(_ARBITRARY):
                yield _of_key(item, key)
            elif key == hooks.SYNC_WAVE:
                if (
                    isinstance(value, str)
                    and not re.fullmatch(r"[+-]?[0-9]{1,18}", value)
                    and "{" not in value
                ):
                    yield finding(
                        item,
                        f"wave {value!r} is not an integer: Argo CD uses wave 0",
                        field=join(("metadata", "annotations", key)),
                    )
            elif key in _LISTS:
                effect = "it is ignored"
                if key == hooks.HOOK and hooks.is_ignored(item.body):
                    effect = "the object is never applied"
                yield from _of_values(item, key, effect)


_ARBITRARY = (f"{PREFIX}link.", f"{PREFIX}notif")


def _of_key(item: Item, key: str) -> Finding:
    folded = re.sub(r"[^a-z/.]", "", key.lower())
    similar = next((name for name in ANNOTATIONS if re.sub(r"[^a-z/.]", "", name) == folded), "")
    similar = similar or near(key, ANNOTATIONS)
    fix = None
    if similar and similar not in item.annotations:
        edits = (
            Remove(pointer=join(("metadata", "annotations", key))),
            Set(pointer=join(("metadata", "annotations", similar)), value=item.annotations[key]),
        )
        fix = Fix.change(item.ref, *edits, title=f"Rename it to {similar}")
    return finding(
        item,
        f"Argo CD has no annotation {key}",
        field=join(("metadata", "annotations", key)),
        hint=f"did you mean {similar}?" if similar else "",
        severity=Severity.WARNING if similar else Severity.INFO,
        fix=fix,
    )


def _of_values(item: Item, key: str, effect: str) -> Iterator[Finding]:
    written = text(item.annotations.get(key))
    label, known = _LISTS[key]
    for value in (part.strip() for part in written.split(",")):
        if not value or value in known or "{" in value or _takes_any_value(value, known):
            continue
        similar = with_correct_case(value, known) or near(value, known)
        fixed = ",".join(similar if part.strip() == value else part.strip() for part in written.split(","))
        pointer = join(("metadata", "annotations", key))
        yield finding(
            item,
            f"Argo CD has no {label} {value}: {effect}",
            field=pointer,
            hint=f"did you mean {similar}?" if similar else "",
            fix=Fix.change(item.ref, Set(pointer=pointer, value=fixed), title=f"Change it to {similar}")
            if similar
            else None,
        )


def _takes_any_value(value: str, known: tuple[str, ...]) -> bool:
    """Options that take any value, such as `PrunePropagationPolicy=`."""
    return any(option.endswith("=") and value.startswith(option) for option in known)
