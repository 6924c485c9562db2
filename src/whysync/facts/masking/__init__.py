"""Mask secrets: everything that leaves `facts/` has opaque masks in their place."""

from __future__ import annotations

from whysync.facts.masking.masker import Masker
from whysync.facts.masking.masks import is_mask
from whysync.facts.masking.snapshot import mask_snapshot

__all__ = ["Masker", "is_mask", "mask_snapshot"]
