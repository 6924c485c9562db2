from __future__ import annotations

from tests.cli.conftest import whysync

__all__ = ["whysync"]
