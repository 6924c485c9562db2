"""Writes what a source found as a bundle: piece by piece, so that a run that broke off can go on."""

from __future__ import annotations

from whysync.facts.collect.bundle import CollectedCounts, Collection
from whysync.facts.collect.target import Target

__all__ = ["CollectedCounts", "Collection", "Target"]
