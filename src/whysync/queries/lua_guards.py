"""Nil checks for Lua health scripts: added at the line that fails, and proposed only if the script then runs.

The script is not parsed, only read line by line. The failing line shows which fields it reads; a check is
added for those that the object does not have.
"""

from __future__ import annotations

import re
from typing import Final

from whysync.argocd.health.assess import assess
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.settings.overrides import ResourceOverride
from whysync.json_tree import Missing, dig
from whysync.kubernetes.api.manifest import Manifest

_LINE: Final = re.compile(r"<string>:(\d{1,5}):")
_PATH: Final = re.compile(r"\bobj((?:\.[A-Za-z_]\w{0,100}){1,10})")
_BRANCH: Final = re.compile(r"^(\s*)(if|elseif)\s+(.*\S)\s+then\s*$")
_LOOP: Final = re.compile(r"^(\s*for\b.*\bi?pairs\()(obj[\w.]{1,200})(\)\s*do\s*)$")
_ASSIGNED: Final = re.compile(r"^(\s*)([A-Za-z_][\w.]{0,100}\s*=[^=].*\S)\s*$")
_MOST: Final = 6
"""The number of lines that may change; a script that needs more has to be fixed by its author."""


def with_nil_checks(script: str, live: Manifest) -> tuple[str, HealthVerdict] | None:
    """The script with nil checks, and the health that it then returns for the object."""
    name = f"{live.ref.group}/{live.ref.kind}"
    lines = script.splitlines()
    for _ in range(_MOST + 1):
        health = assess(live.body, {name: ResourceOverride(health_lua="\n".join(lines) + "\n")})
        if health is None:
            return None
        if health.error is None:
            changed = "\n".join(lines) + "\n"
            return (changed, health.verdict) if lines != script.splitlines() else None
        match = _LINE.search(health.error)
        number = int(match[1]) - 1 if match is not None else -1
        if not 0 <= number < len(lines):
            return None
        checked = _checked(lines[number], live)
        if checked is None:
            return None
        lines[number] = checked
    return None


def _checked(line: str, live: Manifest) -> str | None:
    """The line with a nil check for each field that it reads and the object lacks."""
    loop = _LOOP.match(line)
    if loop is not None and " or {}" not in line:
        missing = _absent(loop[2], live, whole=True)
        iterated = " and ".join([*missing, loop[2]]) if _absent(loop[2], live) else loop[2]
        return f"{loop[1]}{iterated} or {{}}{loop[3]}" if missing else None
    absent = [path for path in _absent(line, live) if f"{path} ~= nil" not in line]
    if not absent:
        return None
    conditions = " and ".join(f"{path} ~= nil" for path in absent)
    branch, assigned = _BRANCH.match(line), _ASSIGNED.match(line)
    if branch is not None:
        inner = f"({branch[3]})" if re.search(r"\bor\b", branch[3]) else branch[3]
        return f"{branch[1]}{branch[2]} {conditions} and {inner} then"
    if assigned is not None:
        return f"{assigned[1]}if {conditions} then {assigned[2]} end"
    return None


def _absent(line: str, live: Manifest, *, whole: bool = False) -> list[str]:
    """The shortest absent path: `obj.status` of `obj.status.phase`, if the object has no status."""
    paths: dict[str, None] = {}
    for match in _PATH.finditer(line):
        parts = match[1].strip(".").split(".")
        for end in range(1, len(parts) + whole):
            if isinstance(dig(live.body, *parts[:end]), Missing):
                paths[".".join(("obj", *parts[:end]))] = None
                break
    return list(paths)
