"""Where plans are known to differ from what happens: data, in known.toml, each with its reason."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from suites.cluster.known import Known

FILE = Path(__file__).with_name("known.toml")


@cache
def known_differences() -> tuple[Known, ...]:
    told = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple(
        Known(id=name, why=entry["why"], where=tuple(entry["where"]), what=entry.get("what", ""))
        for name, entry in told.items()
    )
