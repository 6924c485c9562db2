"""The words of a `kubectl` command line: what they name, and what is said when it is done."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object

DONE: Final = {
    "delete": "deleted", "scale": "scaled", "annotate": "annotated", "label": "labeled",
    "set": "image updated", "edit": "edited", "patch": "patched",
}  # fmt: skip


def target_of(words: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    """Kind, name and the rest: `deployment/web …` and `deployment web …` are the same."""
    if not words:
        return "", "", ()
    kind, slash, name = words[0].partition("/")
    if slash:
        return kind, name, words[1:]
    return kind, words[1] if len(words) > 1 else "", words[2:]


def pairs_of(words: tuple[str, ...]) -> Object:
    """`key=value` sets, `key-` takes away."""
    pairs: Object = {}
    for word in words:
        key, equals, value = word.partition("=")
        pairs[key if equals else key.removesuffix("-")] = value if equals else None
    return pairs
