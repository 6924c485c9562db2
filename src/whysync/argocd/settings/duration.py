"""Durations as Go writes them: `3m`, `1h30m`, `90s`, and days as Argo CD still accepts them."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip


def go_seconds(text: str, default: int) -> int:
    """Whole seconds; the default where there is nothing, or nothing that Argo CD could read or allow.

    Mirrors `ParseDurationFromEnv`, Argo CD 3.6, with 0 as the least.
    """
    if text == "0":
        return 0
    parts = re.findall(r"(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(ns|us|µs|ms|s|m|h|d)", text[:100])
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        return default
    return int(sum(float(number) * _UNITS[unit] for number, unit in parts))
