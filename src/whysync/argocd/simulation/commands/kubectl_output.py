"""Arguments of a `kubectl` command line, and the verbs that it prints."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object

DONE: Final = {
    "delete": "deleted", "scale": "scaled", "annotate": "annotated", "label": "labeled",
    "set": "image updated", "edit": "edited", "patch": "patched",
}  # fmt: skip


def target_of(arguments: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    """Kind, name and the remaining arguments of `deployment/web …` or `deployment web …`."""
    if not arguments:
        return "", "", ()
    kind, slash, name = arguments[0].partition("/")
    if slash:
        return kind, name, arguments[1:]
    return kind, arguments[1] if len(arguments) > 1 else "", arguments[2:]


def pairs_of(arguments: tuple[str, ...]) -> Object:
    """Changes of labels or annotations: `key=value` sets a key, `key-` removes it (`None`)."""
    pairs: Object = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        pairs[key if equals else key.removesuffix("-")] = value if equals else None
    return pairs
