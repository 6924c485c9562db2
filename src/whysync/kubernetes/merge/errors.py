"""What can stop a comparison, in the words Argo CD uses for it."""

from __future__ import annotations


class DiffError(Exception):
    """The two objects cannot be compared; upstream the whole Application becomes Unknown."""
