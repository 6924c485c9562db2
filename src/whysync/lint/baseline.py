"""The baseline of `whysync lint`: known findings, which are not reported again.

Findings are identified by rule, file, object and field, not by line, and are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from whysync.diagnosis.finding import NO_OBJECT, Finding
from whysync.errors import Unreadable

_VERSION: Final = 1


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    check: str
    path: str
    object: str = ""
    field: str = ""
    count: int = 1


class _Baseline(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    findings: tuple[_Entry, ...] = msgspec.field(default=(), name="remarks")


Key = tuple[str, str, str, str]


def key_of(finding: Finding) -> Key:
    """Identifies a finding independently of its line."""
    about = "" if finding.about == NO_OBJECT else str(finding.about)
    return finding.rule, finding.path, about, finding.field or ""


def baseline_text(findings: Iterable[Finding]) -> str:
    counts = Counter(map(key_of, findings))
    entries = tuple(
        _Entry(check=key[0], path=key[1], object=key[2], field=key[3], count=count)
        for key, count in sorted(counts.items())
    )
    data = msgspec.json.encode(_Baseline(version=_VERSION, findings=entries))
    return msgspec.json.format(data, indent=2).decode() + "\n"


def without_known(findings: Iterable[Finding], baseline: str, path: str) -> tuple[list[Finding], int]:
    """Findings that are not in the baseline, and the number of those that are."""
    try:
        read = msgspec.json.decode(baseline, type=_Baseline)
    except (msgspec.DecodeError, UnicodeEncodeError) as problem:
        raise _unusable(path, str(problem)) from problem
    if read.version != _VERSION:
        raise _unusable(path, f"it has version {read.version}, but this whysync supports version {_VERSION}")
    remaining: Counter[Key] = Counter()
    for entry in read.findings:
        remaining[entry.check, entry.path, entry.object, entry.field] += entry.count
    new: list[Finding] = []
    known_count = 0
    for finding in findings:
        key = key_of(finding)
        if remaining[key] > 0:
            remaining[key] -= 1
            known_count += 1
        else:
            new.append(finding)
    return new, known_count


def _unusable(path: str, why: str) -> Unreadable:
    return Unreadable(
        what=f"{path} is not a baseline", why=why, next="write a new one: whysync lint --write-baseline FILE"
    )
