"""Where plans are known to differ from what happens: data, in known.toml, each with its reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from suites.cluster.known import Known, read_known


@cache
def known_differences() -> tuple[Known, ...]:
    return read_known(Path(__file__).with_name("known.toml"))
