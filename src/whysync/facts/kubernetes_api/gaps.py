"""Collect gaps by reason: one gap for all kinds that the same role would allow."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whysync.facts.http.errors import Forbidden, HttpError, Overloaded, TimedOut, Unreachable, gap_kind
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.facts.snapshot import Gap

_MOST_NAMED = 6


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """One list that was refused or aborted; `namespace` is empty for all namespaces."""

    kind: Kind
    namespace: str
    problem: HttpError
    verb: str = "list"
    # some objects were read before it was aborted
    partly: bool = False


class Gaps:
    """Gaps of one cluster; `where` distinguishes it in messages, such as ` on cluster stage`."""

    def __init__(self, where: str = "") -> None:
        self.where = where
        self._unread: list[Unread] = []
        self._told: list[Gap] = []

    def add(self, gap: Gap) -> None:
        if gap not in self._told:
            self._told.append(gap)

    def unread(self, unread: Unread) -> None:
        self._unread.append(unread)

    def all(self, namespaces_that_matter: frozenset[str] | None = None) -> list[Gap]:
        """The gaps; `namespaces_that_matter`: only there an app has a problem that needs the facts."""
        grouped: dict[tuple[str, str, str], list[Unread]] = {}
        for unread in self._unread:
            if namespaces_that_matter is not None and unread.namespace not in namespaces_that_matter:
                continue
            reason = _reason(unread)
            grouped.setdefault((unread.namespace, reason, unread.verb), []).append(unread)
        by_kinds: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
        samples: dict[tuple[tuple[str, ...], str, str], list[Unread]] = {}
        for (namespace, reason, verb), several in grouped.items():
            key = (tuple(sorted({unread.kind.title for unread in several})), reason, verb)
            by_kinds.setdefault(key, []).append(namespace)
            samples.setdefault(key, several)
        gaps = [self._gap(names, samples[key]) for key, names in by_kinds.items()]
        return [*self._told, *gaps]

    def _gap(self, namespaces: list[str], several: list[Unread]) -> Gap:
        kinds = sorted({unread.kind.title for unread in several})
        first = several[0]
        what = "the logs of containers that fail" if first.verb == "logs" else f"live {_some(kinds)}"
        if first.partly:
            what = f"a part of {what}"
        return Gap(
            kind=gap_kind(first.problem),
            what=f"{what}{_places(namespaces)}{self.where}",
            why=_why(several),
            how_to_get=_how(several, namespaces),
        )


def _reason(unread: Unread) -> str:
    if isinstance(unread.problem, Forbidden):
        return "forbidden"
    return f"{type(unread.problem).__name__} {unread.partly}"


def _why(several: list[Unread]) -> str:
    problem = several[0].problem
    if isinstance(problem, Forbidden):
        message = problem.server_message or "the API server does not allow it"
        return f"forbidden: {message}" if len(several) == 1 else f"forbidden, such as: {message}"
    return f"{problem.what}: {problem.why}" if problem.why else problem.what


def _how(several: list[Unread], namespaces: list[str]) -> str:
    problem = several[0].problem
    if not isinstance(problem, Forbidden):
        if isinstance(problem, (TimedOut, Overloaded, Unreachable)):
            return "try again; give it more time with --timeout"
        return problem.next or "try again"
    role = "ClusterRole" if "" in namespaces or len(namespaces) > 1 else "Role"
    return f"a {role} with {rules_for(several)}"


def rules_for(several: Iterable[Unread]) -> str:
    """The minimal RBAC rules as YAML in one line: one per API group."""
    groups: dict[str, set[str]] = {}
    verbs: set[str] = set()
    for unread in several:
        log = unread.verb == "logs"
        groups.setdefault(unread.kind.group, set()).add("pods/log" if log else unread.kind.plural)
        verbs.add("get" if log else unread.verb)
    allowed = ", ".join(sorted(verbs))
    return "; ".join(
        f'{{apiGroups: ["{group}"], resources: [{", ".join(sorted(plurals))}], verbs: [{allowed}]}}'
        for group, plurals in sorted(groups.items())
    )


def _some(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} more kinds"


def _places(namespaces: list[str]) -> str:
    named = sorted(namespace for namespace in namespaces if namespace)
    if not named:
        return ""
    if len(named) == 1:
        return f" in namespace {named[0]}"
    shown = ", ".join(named[:3])
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f" in namespaces {shown}{more}"
