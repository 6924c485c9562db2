"""Paths of the conformance vectors and the corpus, which are not part of a clone.

They are expected next to the clone, in ../shared; WHYSYNC_SHARED names another folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("WHYSYNC_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CONFORMANCE = SHARED / "conformance"
CORPUS = SHARED / "corpus"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the vectors under ../shared are not part of a clone; CI has them"
)
