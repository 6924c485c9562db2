"""JSON pointers (RFC 6901), the one way in which whysync names a field."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.json_tree import MISSING, Json, Missing


def split(pointer: str) -> tuple[str, ...]:
    """`/metadata/annotations/a~1b` → `("metadata", "annotations", "a/b")`; the root is `""`."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer starts with '/': {pointer!r}")
    return tuple(unescape(part) for part in pointer[1:].split("/"))


def join(parts: Iterable[str | int]) -> str:
    return "".join(f"/{escape(str(part))}" for part in parts)


def child(pointer: str, part: str | int) -> str:
    return f"{pointer}/{escape(str(part))}"


def escape(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def resolve(tree: Json | Missing, pointer: str) -> Json | Missing:
    """The value at `pointer`, or `MISSING`; a list is entered by index only."""
    for part in split(pointer):
        if isinstance(tree, dict):
            tree = tree.get(part, MISSING)
        elif isinstance(tree, list) and (at := index_of(part)) is not None and at < len(tree):
            tree = tree[at]
        else:
            return MISSING
    return tree


def index_of(part: str) -> int | None:
    """The place in a list that a part names; longer numbers are no places, and Python does not read them."""
    return int(part) if part.isascii() and part.isdecimal() and len(part) < 10 else None


def without_indexes(pointer: str) -> str:
    """The field in any element of its lists: `/spec/containers/*/image`."""
    return "/".join("*" if index_of(part) is not None else part for part in pointer.split("/"))


def within(pointer: str, ancestor: str) -> bool:
    """Is `pointer` the field `ancestor` itself, or something below it?"""
    return pointer == ancestor or pointer.startswith(f"{ancestor}/")
