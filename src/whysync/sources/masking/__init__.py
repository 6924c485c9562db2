"""Secrets end here: what leaves `sources/` has opaque marks in their place."""

from __future__ import annotations

from whysync.sources.masking.marks import is_mark
from whysync.sources.masking.masker import Masker
from whysync.sources.masking.snapshot import mask_snapshot

__all__ = ["Masker", "is_mark", "mask_snapshot"]
