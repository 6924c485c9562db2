"""Where the conformance vectors and the corpus lie; a user's clone does not have them."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
CONFORMANCE = SHARED / "conformance"
CORPUS = SHARED / "corpus"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the vectors under ../shared are not part of a clone; CI has them"
)
