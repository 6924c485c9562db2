"""Errors of rendering: of the source, as in Argo CD, or of this machine."""

from __future__ import annotations

from typing import Final

from whysync.errors import SourceError

CACHED_SOURCE: Final = "<path to cached source>"
"""The repo-server's replacement for the path of a repository in messages."""


class RenderProblem(Exception):
    """Argo CD cannot render this source either; the text is the repo-server's.

    `code` is the gRPC code: mostly `Unknown`, `FailedPrecondition` for unreadable files.
    """

    def __init__(self, text: str, *, code: str = "Unknown") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class CannotRender(SourceError):
    """Only this machine cannot render the source: a tool, the network or a plugin is missing."""


class ToolMissing(CannotRender):
    """Helm or Kustomize is not installed."""
