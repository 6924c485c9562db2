"""Resolves a targetRevision to a commit: a commit, a branch, a tag, or a semver range of tags.

Mirrors `lsRemote` of util/git and `versions.MaxVersion`, Argo CD 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import Final, NamedTuple

# Semver ranges in targetRevision: `1.2.*`, `^2`, `>=1.0 <2 || 3.x`.
#
# Mirrors Masterminds/semver 3 as used in `versions.MaxVersion`, Argo CD 3.6: a version may be incomplete and
# may start with `v`; a prerelease only matches a range that contains a prerelease.


_VERSION: Final = re.compile(
    r"v?(?P<major>0|[0-9]{1,18})(?:\.(?P<minor>[0-9]{1,18}))?(?:\.(?P<patch>[0-9]{1,18}))?"
    r"(?:-(?P<prerelease>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
)
_NUMBER: Final = r"(?:[0-9]{1,18}|[xX*])"
_LIMIT: Final = re.compile(
    r"(?P<op>=>|=<|>=|<=|~>|!=|[=<>~^])?\s*"
    rf"v?(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER}))?(?:\.(?P<patch>{_NUMBER}))?"
    r"(?:-(?P<prerelease>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_BETWEEN: Final = re.compile(r"(?P<low>[0-9vxX*][^\s,|]*)\s+-\s+(?P<high>[0-9vxX*][^\s,|]*)")
_SEPARATOR: Final = re.compile(r"\s*,\s*|\s+")
_MAX_LENGTH: Final = 256

_LEADING_ZERO = re.compile(r"\.0[0-9]+\.")
"""A number in a pre-release that starts with 0: no version. Mirrors semver `validatePrerelease`."""


class Version(NamedTuple):
    major: int
    minor: int
    patch: int
    prerelease: str
    """`rc.1` of `1.0.0-rc.1`; empty for a release."""
    written: str

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch


class _Limit(NamedTuple):
    op: str
    version: Version
    loose: str
    """The first unspecified component: `all`, `minor`, `patch`, or empty."""


def version_of(text: str) -> Version | None:
    matched = _VERSION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if matched is None or _LEADING_ZERO.search(f".{matched['prerelease'] or ''}."):
        return None
    major, minor, patch = (int(matched[name] or 0) for name in ("major", "minor", "patch"))
    return Version(major, minor, patch, matched["prerelease"] or "", text)


def is_range(text: str) -> bool:
    return version_of(text) is None and _parsed(text) is not None


def newest(text: str, candidates: Iterable[str]) -> str | None:
    """The highest candidate in a range, in its original spelling; `None` if none matches."""
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
    if version.prerelease == other.prerelease:
        return 0
    if not version.prerelease or not other.prerelease:
        return 1 if not version.prerelease else -1
    left_identifiers, right_identifiers = version.prerelease.split("."), other.prerelease.split(".")
    for left, right in zip(left_identifiers, right_identifiers, strict=False):
        if left != right:
            return _compare_identifier(left, right)
    return 1 if len(left_identifiers) > len(right_identifiers) else -1


def _compare_identifier(left: str, right: str) -> int:
    """Numeric identifiers by value, and below alphanumeric ones."""
    if left.isdecimal() and right.isdecimal():
        left_digits, right_digits = left.lstrip("0"), right.lstrip("0")
        return 1 if (len(left_digits), left_digits) > (len(right_digits), right_digits) else -1
    if left.isdecimal() or right.isdecimal():
        return -1 if left.isdecimal() else 1
    return 1 if left > right else -1


def _parsed(text: str) -> list[list[_Limit]] | None:
    """Alternatives (`||`), each a list of limits that must all match; `None` if it is not a range."""
    if len(text) > _MAX_LENGTH:
        return None
    groups: list[list[_Limit]] = []
    for alternative in text.split("||"):
        alternative = _BETWEEN.sub(r">=\g<low> <=\g<high>", alternative).strip()
        group: list[_Limit] = []
        position = 0
        while position < len(alternative) or not group:
            matched = _LIMIT.match(alternative, position)
            if matched is None:
                return None
            group.append(_limit(matched))
            position = matched.end()
            if position < len(alternative):
                gap = _SEPARATOR.match(alternative, position)
                if gap is None:
                    return None
                position = gap.end()
        groups.append(group)
    return groups


def _limit(matched: re.Match[str]) -> _Limit:
    loose = ""
    numbers = {"major": 0, "minor": 0, "patch": 0}
    for index, name in enumerate(("major", "minor", "patch")):
        component = matched[name]
        if component is None or component in "xX*":
            loose = ("all", "minor", "patch")[index]
            break
        numbers[name] = int(component)
    op = {"=>": ">=", "=<": "<=", "~>": "~", None: "="}.get(matched["op"], matched["op"])
    return _Limit(op, Version(**numbers, prerelease=matched["prerelease"] or "", written=""), loose)


def _allows(group: list[_Limit], version: Version) -> bool:
    if version.prerelease and not any(limit.version.prerelease for limit in group):
        return False
    return all(_fits(limit, version) for limit in group)


def _fits(limit: _Limit, version: Version) -> bool:
    limit_version, loose = limit.version, limit.loose
    order = compare(version, limit_version)
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
            return _at_most(limit, version, order)
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


def _at_most(limit: _Limit, version: Version, order: int) -> bool:
    if not limit.loose:
        return order <= 0
    if version.major != limit.version.major:
        return version.major < limit.version.major
    return limit.loose == "minor" or version.minor <= limit.version.minor


def _tilde(limit: _Limit, version: Version) -> bool:
    """`~1.2.3`: the same minor version, at least this patch; `~1`: the same major version; `*`: all."""
    if limit.loose == "all":
        return True
    if compare(version, limit.version) < 0 or version.major != limit.version.major:
        return False
    return limit.loose == "minor" or version.minor == limit.version.minor


def _caret(limit: _Limit, version: Version) -> bool:
    """`^1.2`: the same leftmost non-zero component, at least this version."""
    limit_version = limit.version
    if compare(version, limit_version) < 0:
        return False
    if limit_version.major > 0 or limit.loose == "minor":
        return version.major == limit_version.major
    if version.major > 0:
        return False
    if limit_version.minor > 0 or limit.loose == "patch":
        return version.minor == limit_version.minor
    return version.minor == 0 and version.patch == limit_version.patch


_COMMIT: Final = re.compile(r"[0-9A-Fa-f]{40}")
_SHORT_COMMIT: Final = re.compile(r"[0-9A-Fa-f]{7,}")
_FOLDERS: Final = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/")


class RevisionUnknown(Exception):
    """With the repo-server's message."""


def is_commit(revision: str) -> bool:
    return _COMMIT.fullmatch(revision) is not None


def commit_of(revision: str, refs: Mapping[str, str], *, tag_prefix: str = "") -> str:
    """The commit of a revision. `refs` are full reference names with their commits, including `HEAD`.

    An abbreviated commit is returned unchanged. Raises `RevisionUnknown`.
    """
    if is_commit(revision):
        return revision
    ref_name = _resolved_name(revision or "HEAD", refs, tag_prefix)
    for name, commit in refs.items():
        if name == ref_name or _short(name) == ref_name:
            return commit
    if _SHORT_COMMIT.fullmatch(ref_name):
        return ref_name
    raise RevisionUnknown(f"unable to resolve '{ref_name}' to a commit SHA: revision not found")


def _resolved_name(revision: str, refs: Mapping[str, str], prefix: str) -> str:
    if version_of(revision) is not None:
        return prefix + revision
    if not is_range(revision):
        return revision
    tags = [name.removeprefix("refs/tags/") for name in refs if name.startswith("refs/tags/")]
    tag = newest(revision, [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)])
    return revision if tag is None else prefix + tag


def _short(name: str) -> str:
    for folder in _FOLDERS:
        if name.startswith(folder):
            return name.removeprefix(folder)
    return name


def refs_in(listing: str) -> dict[str, str]:
    """From `git ls-remote` or `git show-ref --head -d`; annotated tags are dereferenced (`^{}`)."""
    refs: dict[str, str] = {}
    for line in listing.splitlines():
        commit, _, name = line.replace("\t", " ", 1).partition(" ")
        if is_commit(commit) and name:
            refs[name.removesuffix("^{}")] = commit
    return refs
