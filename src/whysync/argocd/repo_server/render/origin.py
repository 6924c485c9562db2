"""The file that a rendered object comes from."""

from __future__ import annotations

import msgspec

from whysync.json_tree import Object


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the repository; `line` is the first line of the object, 0 if a tool generated the object."""

    path: str = ""
    line: int = 0
    made_by: str = ""
    """`template`, `overlay`, `generator`, `crds`, `jsonnet`; empty for a plain manifest."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class RenderedObject(msgspec.Struct, frozen=True, kw_only=True):
    """Contains the values of Secrets: never put it into a report without masking."""

    body: Object
    origin: Origin = Origin()

    def __repr__(self) -> str:
        return f"<rendered {self.body.get('kind')} from {self.origin}>"
