"""Errors of a call that the assistant can correct."""

from __future__ import annotations

from whysync.errors import WhysyncError


class ToolError(WhysyncError):
    """Its text is whysync's own: names of a cluster in it are marked one by one, with `untrusted.name`."""
