"""The baseline of `whysync lint`: known findings, which are not reported again.

Remarks are identified by check, file, object and field, not by line, and are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from whysync.errors import Unreadable
from whysync.manifests.remark import Remark

_VERSION: Final = 1


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    check: str
    path: str
    object: str = ""
    field: str = ""
    count: int = 1


class _Baseline(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    remarks: tuple[_Entry, ...] = ()


def written(remarks: Iterable[Remark]) -> str:
    counts = Counter(remark.key for remark in remarks)
    entries = tuple(
        _Entry(check=key[0], path=key[1], object=key[2], field=key[3], count=count)
        for key, count in sorted(counts.items())
    )
    data = msgspec.json.encode(_Baseline(version=_VERSION, remarks=entries))
    return msgspec.json.format(data, indent=2).decode() + "\n"


def without_known(remarks: Iterable[Remark], baseline: str, path: str) -> tuple[list[Remark], int]:
    """Remarks that are not in the baseline, and the number of those that are."""
    try:
        read = msgspec.json.decode(baseline, type=_Baseline)
    except (msgspec.DecodeError, UnicodeEncodeError) as problem:
        raise _unusable(path, str(problem)) from problem
    if read.version != _VERSION:
        raise _unusable(path, f"it has version {read.version}, this whysync knows version {_VERSION}")
    left: Counter[tuple[str, str, str, str]] = Counter()
    for entry in read.remarks:
        left[entry.check, entry.path, entry.object, entry.field] += entry.count
    new: list[Remark] = []
    known = 0
    for remark in remarks:
        if left[remark.key] > 0:
            left[remark.key] -= 1
            known += 1
        else:
            new.append(remark)
    return new, known


def _unusable(path: str, why: str) -> Unreadable:
    return Unreadable(
        what=f"{path} is no baseline", why=why, next="write a new one: whysync lint --write-baseline FILE"
    )
