"""Ranges of versions as targetRevisions may have them: `1.2.*`, `^2`, `>=1.0 <2 || 3.x`.

Mirrors Masterminds/semver 3 as Argo CD 3.6 uses it in `versions.MaxVersion`: a version may be short and may
begin with `v`; one before a release only fits a range that names such a one itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Final, NamedTuple

_VERSION: Final = re.compile(
    r"v?(?P<major>0|[0-9]{1,18})(?:\.(?P<minor>[0-9]{1,18}))?(?:\.(?P<patch>[0-9]{1,18}))?"
    r"(?:-(?P<before>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
)
_NUMBER: Final = r"(?:[0-9]{1,18}|[xX*])"
_LIMIT: Final = re.compile(
    r"(?P<op>=>|=<|>=|<=|~>|!=|[=<>~^])?\s*"
    rf"v?(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER}))?(?:\.(?P<patch>{_NUMBER}))?"
    r"(?:-(?P<before>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_BETWEEN: Final = re.compile(r"(?P<low>[0-9vxX*][^\s,|]*)\s+-\s+(?P<high>[0-9vxX*][^\s,|]*)")
_SEPARATOR: Final = re.compile(r"\s*,\s*|\s+")
_LONGEST: Final = 256


class Version(NamedTuple):
    major: int
    minor: int
    patch: int
    before: str
    """`rc.1` of `1.0.0-rc.1`; empty for a release."""
    written: str

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch


class _Limit(NamedTuple):
    op: str
    version: Version
    loose: str
    """What was left open: `all` of it, the `minor` and patch, the `patch`, or nothing."""


def version_of(text: str) -> Version | None:
    matched = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
    if matched is None:
        return None
    major, minor, patch = (int(matched[name] or 0) for name in ("major", "minor", "patch"))
    return Version(major, minor, patch, matched["before"] or "", text)


def is_range(text: str) -> bool:
    return version_of(text) is None and _parsed(text) is not None


def newest(text: str, candidates: Iterable[str]) -> str | None:
    """The highest of the candidates that a range allows, as it is written; `None` when none does."""
    limits = _parsed(text)
    if limits is None:
        return None
    fitting = [
        version
        for version in map(version_of, candidates)
        if version is not None and any(_allows(group, version) for group in limits)
    ]
    return max(fitting, key=cmp_to_key(compare)).written if fitting else None


def compare(version: Version, other: Version) -> int:
    if version.numbers != other.numbers:
        return 1 if version.numbers > other.numbers else -1
    if version.before == other.before:
        return 0
    if not version.before or not other.before:
        return 1 if not version.before else -1
    mine, theirs = version.before.split("."), other.before.split(".")
    for left, right in zip(mine, theirs, strict=False):
        if left != right:
            return _compare_part(left, right)
    return 1 if len(mine) > len(theirs) else -1


def _compare_part(left: str, right: str) -> int:
    """Numbers by value and below words."""
    if left.isdecimal() and right.isdecimal():
        left_digits, other = left.lstrip("0"), right.lstrip("0")
        return 1 if (len(left_digits), left_digits) > (len(other), other) else -1
    if left.isdecimal() or right.isdecimal():
        return -1 if left.isdecimal() else 1
    return 1 if left > right else -1


def _parsed(text: str) -> list[list[_Limit]] | None:
    """Groups of which one must hold, each of limits that must all hold; `None` when it is no range."""
    if len(text) > _LONGEST:
        return None
    groups: list[list[_Limit]] = []
    for part in text.split("||"):
        part = _BETWEEN.sub(r">=\g<low> <=\g<high>", part).strip()
        group: list[_Limit] = []
        at = 0
        while at < len(part) or not group:
            matched = _LIMIT.match(part, at)
            if matched is None:
                return None
            group.append(_limit(matched))
            at = matched.end()
            if at < len(part):
                gap = _SEPARATOR.match(part, at)
                if gap is None:
                    return None
                at = gap.end()
        groups.append(group)
    return groups


def _limit(matched: re.Match[str]) -> _Limit:
    loose = ""
    numbers = {"major": 0, "minor": 0, "patch": 0}
    for at, name in enumerate(("major", "minor", "patch")):
        part = matched[name]
        if part is None or part in "xX*":
            loose = ("all", "minor", "patch")[at]
            break
        numbers[name] = int(part)
    op = {"=>": ">=", "=<": "<=", "~>": "~", None: "="}.get(matched["op"], matched["op"])
    return _Limit(op, Version(**numbers, before=matched["before"] or "", written=""), loose)


def _allows(group: list[_Limit], version: Version) -> bool:
    if version.before and not any(limit.version.before for limit in group):
        return False
    return all(_fits(limit, version) for limit in group)


def _fits(limit: _Limit, version: Version) -> bool:
    wanted, loose = limit.version, limit.loose
    order = compare(version, wanted)
    match limit.op:
        case "=":
            return _tilde(limit, version) if loose else order == 0
        case "!=":
            return not _tilde(limit, version) if loose in ("minor", "patch") else order != 0
        case ">":
            return _above(limit, version, order)
        case "<":
            return order < 0
        case ">=":
            return order >= 0
        case "<=":
            return _not_above(limit, version, order)
        case "~":
            return _tilde(limit, version)
        case _:
            return _caret(limit, version)


def _above(limit: _Limit, version: Version, order: int) -> bool:
    if not limit.loose:
        return order > 0
    if version.major != limit.version.major:
        return version.major > limit.version.major
    return limit.loose == "patch" and version.minor > limit.version.minor


def _not_above(limit: _Limit, version: Version, order: int) -> bool:
    if not limit.loose:
        return order <= 0
    if version.major != limit.version.major:
        return version.major < limit.version.major
    return limit.loose == "minor" or version.minor <= limit.version.minor


def _tilde(limit: _Limit, version: Version) -> bool:
    """`~1.2.3`: this minor version from there on; `~1`: this major version; `*`: all."""
    if limit.loose == "all":
        return True
    if compare(version, limit.version) < 0 or version.major != limit.version.major:
        return False
    return limit.loose == "minor" or version.minor == limit.version.minor


def _caret(limit: _Limit, version: Version) -> bool:
    """`^1.2`: up to the next change of the first number that is not zero."""
    wanted = limit.version
    if compare(version, wanted) < 0:
        return False
    if wanted.major > 0 or limit.loose == "minor":
        return version.major == wanted.major
    if version.major > 0:
        return False
    if wanted.minor > 0 or limit.loose == "patch":
        return version.minor == wanted.minor
    return version.minor == 0 and version.patch == wanted.patch
