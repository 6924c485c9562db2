"""The known differences: where whysync answers otherwise than the vectors, and why.

They are data, in known.toml; `docs/differences.md` is rendered from them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")

_HEADING = """\
# Known differences

whysync is checked against answers that Argo CD 3.6 and a Kubernetes 1.36 API server gave themselves. Below is
every recorded answer that it does not give, with the reason. This page is generated; a difference that is
not on it is a bug.
"""


@cache
def known_differences() -> dict[str, dict[str, str]]:
    """For each line of the runner (`diff`, `health.message`): id of a record → why it differs."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: {str(key): str(why) for key, why in table.items()} for name, table in tables.items()}


def differences_markdown() -> str:
    """The page `docs/differences.md`."""
    sections = [_HEADING]
    for name, entries in sorted(known_differences().items()):
        if entries:
            lines = [f"- `{record}`: {why}" for record, why in sorted(entries.items())]
            sections.append(f"## {name}\n\n" + "\n".join(lines) + "\n")
    if len(sections) == 1:
        sections.append("There are none.\n")
    return "\n".join(sections)
