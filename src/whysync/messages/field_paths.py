"""Field paths as Kubernetes writes them, turned into JSON pointers where they can be."""

from __future__ import annotations

import re
from functools import cache

from whysync.kubernetes.api import pointer


@cache
def _step() -> re.Pattern[str]:
    return re.compile(r"\.?(?P<name>[^.\[\]\s]+)|\[(?P<key>[^\]]*)\]")


def pointer_of(path: str) -> str:
    """`spec.containers[0].image` → `/spec/containers/0/image`.

    Empty when the path selects a list element by its key (`[name="x"]`, `[k8s:…]`), or is no path at all.
    """
    if not path or len(path) > 500:
        return ""
    parts: list[str] = []
    at = 0
    while at < len(path):
        match = _step().match(path, at)
        if match is None or match.end() == at:
            return ""
        key = match["key"]
        if key is None:
            parts.append(match["name"])
        elif "=" in key or key.startswith("k:") or key in ("", "*"):
            return ""
        else:
            parts.append(key.strip("\"'"))
        at = match.end()
    return pointer.join(parts)
