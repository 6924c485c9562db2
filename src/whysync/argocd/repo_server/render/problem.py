"""How rendering ends without manifests: the source is at fault, or this machine is."""

from __future__ import annotations

from typing import Final

from whysync.errors import SourceError

CACHED_SOURCE: Final = "<path to cached source>"
"""What the repo-server writes in place of the directory in which it keeps a repository."""


class RenderProblem(Exception):
    """Argo CD would not render this source either; the text is the repo-server's.

    `code` is that of gRPC: most are `Unknown`, those of unreadable files `FailedPrecondition`.
    """

    def __init__(self, text: str, *, code: str = "Unknown") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class CannotRender(SourceError):
    """The source may be fine, but not here: a tool, the network or a plugin is missing."""
