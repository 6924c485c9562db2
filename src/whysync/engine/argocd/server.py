"""What Argo CD's API server says to users."""

from __future__ import annotations


class Denied(Exception):
    """A request that Argo CD's API server refuses; the text is what the client shows."""
