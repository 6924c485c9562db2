"""Options in annotations: `argocd.argoproj.io/sync-options: Prune=false, Delete=confirm`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, cast

from whysync.json_tree import Object

HOOK: Final = "argocd.argoproj.io/hook"
HOOK_DELETE_POLICY: Final = "argocd.argoproj.io/hook-delete-policy"
SYNC_OPTIONS: Final = "argocd.argoproj.io/sync-options"
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
COMPARE_OPTIONS: Final = "argocd.argoproj.io/compare-options"
HELM_HOOK: Final = "helm.sh/hook"
HELM_HOOK_DELETE_POLICY: Final = "helm.sh/hook-delete-policy"
HELM_HOOK_WEIGHT: Final = "helm.sh/hook-weight"

_NUMBER: Final = r"[+-]?[0-9]{1,18}"


def written(obj: Object) -> Object:
    """The raw annotations, including values that are not strings."""
    meta = obj.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def annotations_of(obj: Object) -> dict[str, str]:
    """The annotations as Go reads them: none if one value is not a string."""
    annotations = written(obj)
    texts = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return texts if len(texts) == len(annotations) else {}


def annotation(obj: Object, key: str) -> str | None:
    """One annotation; a fast path, because it is read often and is usually missing."""
    annotations = written(obj)
    value = annotations.get(key)
    if value is None:
        return None
    for other in annotations.values():
        if not isinstance(other, str):
            return None
    return cast("str", value)


def options(obj: Object, key: str) -> tuple[str, ...]:
    """The comma-separated values of an annotation, trimmed, without duplicates."""
    value = annotation(obj, key)
    if not value:
        return ()
    values = (item.strip() for item in value.split(","))
    return tuple(dict.fromkeys(item for item in values if item))


def has_option(obj: Object, key: str, option: str) -> bool:
    """Case-sensitive: `prune=false` is not `Prune=false`."""
    return option in options(obj, key)


def option_value(obj: Object, key: str, name: str) -> str | None:
    """The first value of `name=value`; a bare `name` has none."""
    prefix = f"{name}="
    return next(
        (option.removeprefix(prefix) for option in options(obj, key) if option.startswith(prefix)), None
    )


def number(obj: Object, key: str) -> int | None:
    """Mirrors Go's `Atoi`: no spaces, no fractions."""
    value = annotation(obj, key)
    return _atoi(value) if value else None


@lru_cache(maxsize=1024)
def _atoi(value: str) -> int | None:
    """Cached, because each step of a sync reads the wave of every object."""
    return int(value) if re.fullmatch(_NUMBER, value) else None
