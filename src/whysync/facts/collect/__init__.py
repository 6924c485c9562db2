"""`whysync collect`: write facts as a bundle, in pieces, so that an interrupted run can be resumed."""

from __future__ import annotations

from whysync.facts.collect.bundle import CollectedCounts, Collection
from whysync.facts.collect.target import Target

__all__ = ["CollectedCounts", "Collection", "Target"]
