"""Cursors: where the next page of an answer begins. They hold no state on the server."""

from __future__ import annotations

import base64
import binascii
import zlib

import msgspec

from whysync.mcp.errors import ToolError

_LONGEST = 400


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """`reading` identifies the facts; `question` is a checksum of the tool and its other arguments."""

    question: int
    reading: str
    offset: int


def question_of(tool: str, arguments: msgspec.Struct) -> int:
    """A checksum of the question, without the cursor and the size of a page."""
    values = {
        name: getattr(arguments, name)
        for name in arguments.__struct_fields__
        if name not in ("cursor", "limit")
    }
    return zlib.crc32(msgspec.json.encode((tool, values), order="sorted"))


def encode(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).rstrip(b"=").decode()


def decode(text: str, question: int) -> Cursor:
    """The cursor, or an error if it is not one of this question."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        cursor = msgspec.json.decode(data, type=Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise _invalid("it is not a cursor of this server") from None
    if cursor.question != question or cursor.offset < 0:
        raise _invalid("it belongs to a call with other arguments")
    return cursor


def _invalid(why: str) -> ToolError:
    return ToolError(
        what="invalid cursor",
        why=why,
        next="call the tool again without cursor, or repeat the arguments of the call that returned it",
    )


def outdated() -> ToolError:
    return ToolError(
        what="the cursor is outdated",
        why="the facts were read again since the first page",
        next="call the tool again without cursor",
    )
