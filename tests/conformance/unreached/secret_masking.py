"""Hide the values of Secrets the way Argo CD shows them.

Mirrors gitops-engine `HideSecretData`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from whysync.argocd.diff.normalize import normalize_secret
from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, last_applied_text, parse

_MASK: Final = "++++++++"
_MORE: Final = "++++"


def mask_secrets(
    target: Object | None, live: Object | None, *, hide_annotations: Collection[str] = ()
) -> tuple[Object | None, Object | None]:
    """Both objects with their values replaced by plus signs: equal values of a key by equally many.

    What was applied last is masked along with them; where that cannot be read, it is hidden as a whole.
    """
    sides = [_folded(obj) for obj in (target, live, _applied(target), _applied(live))]
    keys = sorted({key for side in sides if side is not None for key in fields(side.get("data"))})
    for key in keys:
        _mask(sides, key, ("data",))
    for key in sorted(set(hide_annotations)):
        _mask(sides, key, ("metadata", "annotations"))
    hide_whole = LAST_APPLIED in hide_annotations
    masked = [
        _with_annotation(obj, side, applied, hide_whole=hide_whole)
        for obj, side, applied in ((target, sides[0], sides[2]), (live, sides[1], sides[3]))
    ]
    return masked[0], masked[1]


def _applied(obj: Object | None) -> Object | None:
    result = last_applied_text(obj) if obj is not None else None
    return None if result is None else parse(result)


def _folded(obj: Object | None) -> Object | None:
    if obj is None:
        return None
    is_secret = obj.get("kind") == "Secret" and group_of(text(obj.get("apiVersion"))) == ""
    return normalize_secret(obj) if is_secret else obj


def _mask(sides: list[Object | None], key: str, path: tuple[str, ...]) -> None:
    """Replace one key on all sides; the n-th distinct value gets n-1 times four more signs."""
    marks: dict[str, str] = {}
    for index, side in enumerate(sides):
        if side is None:
            continue
        holder = _dig(side, path)
        if key not in holder:
            continue
        mark = marks.setdefault(_as_text(holder[key]), _MASK + _MORE * len(marks))
        sides[index] = _put(side, path, {**holder, key: mark})


def _dig(side: Object, path: tuple[str, ...]) -> Object:
    value: Json = side
    for step in path:
        value = fields(value).get(step)
        if value is not None and not isinstance(value, dict):
            raise DiffError(f"unstructured.NestedMap error: .{'.'.join(path)} accessor error")
    return fields(value)


def _put(side: Object, path: tuple[str, ...], value: Object) -> Object:
    if len(path) == 1:
        return {**side, path[0]: value}
    return {**side, path[0]: _put(fields(side.get(path[0])), path[1:], value)}


def _as_text(value: Json) -> str:
    """Go's `%s` of a value; a value that is not a string is marked as in Go."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"%!s({type(value).__name__}={value})"


def _with_annotation(
    original: Object | None, side: Object | None, applied: Object | None, *, hide_whole: bool
) -> Object | None:
    if original is None or side is None or last_applied_text(original) is None:
        return side
    annotations = dict(_dig(side, ("metadata", "annotations")))
    unreadable = applied is None
    annotations[LAST_APPLIED] = (
        _MASK if hide_whole or unreadable else msgspec.json.encode(applied, order="sorted").decode() + "\n"
    )
    return _put(side, ("metadata", "annotations"), annotations)
