"""Known differences between what the lab plays and the real components: data, in known.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")
_HEADING = """\
## What the lab plays, against the real components

The lab and the proofs play Argo CD's application controller, and Kubernetes' controllers, scheduler and
kubelets, on a clock of their own. Nothing is left to chance, and some things are simpler than they are:
"""
_WHOSE = {"argocd": "Argo CD", "cluster": "The cluster"}


@cache
def known_differences() -> dict[str, dict[str, str]]:
    """Known differences of `argocd` and `cluster`: id → description."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: {str(key): str(difference) for key, difference in table.items()}
        for name, table in tables.items()
    }


def engine_markdown() -> str:
    """The section of `docs/differences.md`."""
    parts = [_HEADING]
    for name, entries in known_differences().items():
        lines = [f"- `{id}`: {difference}" for id, difference in sorted(entries.items())]
        parts.append(f"### {_WHOSE[name]}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)
