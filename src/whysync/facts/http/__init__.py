"""The HTTP client of all live sources: retries, limits and clear errors."""

from __future__ import annotations
