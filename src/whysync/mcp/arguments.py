"""Arguments of the tools: typed, limited, and described for the assistant."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from whysync.mcp.untrusted import LONGEST_NAME

_LONGEST_TEXT: Final = 200_000

AppName = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=3 * LONGEST_NAME + 2,
        description="name, namespace/name or instance/namespace/name of the app",
    ),
]
Filter = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=100, description="most items of a page")]
CursorText = Annotated[
    str, msgspec.Meta(max_length=400, description="nextCursor of the previous page, with the same arguments")
]
Message = Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_TEXT)]
Path = Annotated[str, msgspec.Meta(max_length=4_000)]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of one call."""
