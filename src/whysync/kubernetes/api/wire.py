"""The base of all that is decoded from the wire: frozen, by keyword, camelCase outside."""

from __future__ import annotations

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass
