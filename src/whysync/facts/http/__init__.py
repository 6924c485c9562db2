"""One robust HTTP client for all live sources: patient, never for ever, and clear when it gives up."""

from __future__ import annotations
