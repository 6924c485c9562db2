"""Read offline bundles: a folder, an archive or a file of objects becomes a Snapshot."""

from __future__ import annotations

from whysync.facts.bundle.limits import BundleLimits
from whysync.facts.bundle.reader import Progress, read_bundle, read_bundles

__all__ = ["BundleLimits", "Progress", "read_bundle", "read_bundles"]
