"""Why there is no verdict on an object."""

from __future__ import annotations


class CannotJudge(Exception):
    """Upstream returns an error; the object counts as Unknown and shows this text."""
