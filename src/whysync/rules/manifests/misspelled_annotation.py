"""An Argo CD annotation with an unknown name or an invalid value.

## Why
It is passed over in silence: the object is in wave 0, is no hook, is pruned after all.

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
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Remove, Set
from whysync.json_tree import text
from whysync.kubernetes.api.pointer import join
from whysync.manifests.argocd_annotations import (
    ANNOTATIONS,
    COMPARE_OPTIONS,
    PREFIX,
    SYNC_OPTIONS,
    in_right_letters,
)
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.files import Item
from whysync.manifests.remark import AutoFix, Remark
from whysync.manifests.similar_names import near
from whysync.manifests.tree import Tree

_LISTS = {
    hooks.HOOK: ("hook type", (*hooks.HookType, *hooks.DeletionHook)),
    HOOK_DELETE_POLICY: ("delete policy", tuple(hooks.DeletePolicy)),
    hooks.SYNC_OPTIONS: ("sync option", SYNC_OPTIONS),
    hooks.COMPARE_OPTIONS: ("compare option", COMPARE_OPTIONS),
}


@check(Layer.ARGOCD, Severity.WARNING)
def misspelled_annotation(tree: Tree) -> Found:
    for item in tree.items:
        for key, value in item.annotations.items():
            if not key.startswith(PREFIX):
                if key.lower().startswith("argocd.argoproj") or key.startswith("argoproj.io/sync"):
                    yield item, _of_key(item, key)
                continue
            if key not in ANNOTATIONS and not key.startswith(_FREE):
                yield item, _of_key(item, key)
            elif key == hooks.SYNC_WAVE:
                if (
                    isinstance(value, str)
                    and not re.fullmatch(r"[+-]?[0-9]{1,18}", value)
                    and "{" not in value
                ):
                    yield (
                        item,
                        Remark(
                            message=f"wave {value!r} is no whole number: Argo CD takes it for wave 0",
                            field=join(("metadata", "annotations", key)),
                        ),
                    )
            elif key in _LISTS:
                lost = "it is passed over"
                if key == hooks.HOOK and hooks.is_ignored(item.body):
                    lost = "the object is never applied"
                for remark in _of_values(key, text(value), lost):
                    yield item, remark


_FREE = (f"{PREFIX}link.", f"{PREFIX}notif")


def _of_key(item: Item, key: str) -> Remark:
    folded = re.sub(r"[^a-z/.]", "", key.lower())
    meant = next((one for one in ANNOTATIONS if re.sub(r"[^a-z/.]", "", one) == folded), "")
    meant = meant or near(key, ANNOTATIONS)
    mend = None
    if meant and meant not in item.annotations:
        edits = (
            Remove(pointer=join(("metadata", "annotations", key))),
            Set(pointer=join(("metadata", "annotations", meant)), value=item.annotations[key]),
        )
        mend = AutoFix(title=f"Call it {meant}", edits=edits)
    return Remark(
        message=f"Argo CD knows no annotation {key}",
        field=join(("metadata", "annotations", key)),
        hint=f"did you mean {meant}?" if meant else "",
        severity=Severity.WARNING if meant else Severity.INFO,
        mend=mend,
    )


def _of_values(key: str, written: str, lost: str) -> Iterator[Remark]:
    what, known = _LISTS[key]
    for value in (part.strip() for part in written.split(",")):
        if not value or value in known or "{" in value or _is_open(value, known):
            continue
        meant = in_right_letters(value, known) or near(value, known)
        fixed = ",".join(meant if part.strip() == value else part.strip() for part in written.split(","))
        pointer = join(("metadata", "annotations", key))
        yield Remark(
            message=f"Argo CD knows no {what} {value}: {lost}",
            field=pointer,
            hint=f"did you mean {meant}?" if meant else "",
            mend=AutoFix(title=f"Write {meant}", edits=(Set(pointer=pointer, value=fixed),))
            if meant
            else None,
        )


def _is_open(value: str, known: tuple[str, ...]) -> bool:
    """Options that take any value, such as `PrunePropagationPolicy=`."""
    return any(one.endswith("=") and value.startswith(one) for one in known)
