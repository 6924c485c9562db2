"""JSON pointers (RFC 6901), which identify fields throughout whysync."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.json_tree import MISSING, Json, Missing


def split(pointer: str) -> tuple[str, ...]:
    """`/metadata/annotations/a~1b` → `("metadata", "annotations", "a/b")`; the root is `""`."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer starts with '/': {pointer!r}")
    tokens = pointer[1:].split("/")
    return tuple(map(unescape, tokens)) if "~" in pointer else tuple(tokens)


def join(tokens: Iterable[str | int]) -> str:
    return "".join(f"/{escape(str(token))}" for token in tokens)


def child(pointer: str, token: str | int) -> str:
    return f"{pointer}/{escape(str(token))}"


def escape(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def resolve(tree: Json | Missing, pointer: str) -> Json | Missing:
    """The value at `pointer`, or `MISSING`; a list is entered by index only."""
    for token in split(pointer):
        if isinstance(tree, dict):
            tree = tree.get(token, MISSING)
        elif isinstance(tree, list):
            tree = enter(tree, token)
        else:
            return MISSING
    return tree


def enter(tree: Json | Missing, token: str) -> Json | Missing:
    """The entry of a map or a list with this token."""
    if isinstance(tree, dict):
        return tree.get(token, MISSING)
    index = index_of(token) if isinstance(tree, list) else None
    return tree[index] if isinstance(tree, list) and index is not None and index < len(tree) else MISSING


def index_of(token: str) -> int | None:
    """The list index of a token; `None` for other tokens and for numbers of ten digits or more."""
    return int(token) if token.isascii() and token.isdecimal() and len(token) < 10 else None


def without_indexes(pointer: str) -> str:
    """The field in any element of its lists: `/spec/containers/*/image`."""
    return "/".join("*" if index_of(token) is not None else token for token in pointer.split("/"))


def within(pointer: str, ancestor: str) -> bool:
    """Is `pointer` the field `ancestor` itself, or something below it?"""
    return pointer == ancestor or pointer.startswith(f"{ancestor}/")
