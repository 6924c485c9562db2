"""Errors of a comparison, with Argo CD's messages."""

from __future__ import annotations


class DiffError(Exception):
    """The two objects cannot be compared; upstream the whole Application becomes Unknown."""
