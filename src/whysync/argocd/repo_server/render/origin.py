"""The origin of a rendered object, as exactly as its tool reports it."""

from __future__ import annotations

from dataclasses import dataclass

from whysync.json_tree import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A file of the repository; `line` is where the object begins, 0 where a tool made it from that file."""

    path: str = ""
    line: int = 0
    made_by: str = ""
    """`template`, `overlay`, `generator`, `crds`, `jsonnet`; empty for a plain manifest."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedObject:
    """The values of Secrets are in it: it goes to a cluster or through masking, never into a report."""

    body: Object
    origin: Origin = Origin()

    def __repr__(self) -> str:
        return f"<rendered {self.body.get('kind')} from {self.origin}>"
