"""Collect gaps by reason: one gap for all kinds that the same role would allow."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whysync.facts.http.errors import Forbidden, HttpError, Overloaded, TimedOut, Unreachable, gap_kind
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.facts.snapshot import Gap

_MAX_NAMED = 6


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

    def __init__(self, location: str = "") -> None:
        self.location = location
        self._unread: list[Unread] = []
        self._gaps: list[Gap] = []

    def add(self, gap: Gap) -> None:
        if gap not in self._gaps:
            self._gaps.append(gap)

    def add_unread(self, unread: Unread) -> None:
        self._unread.append(unread)

    def all(self, only_namespaces: frozenset[str] | None = None) -> list[Gap]:
        """The gaps; `only_namespaces`: only there an app has a problem that needs the facts."""
        grouped: dict[tuple[str, str, str], list[Unread]] = {}
        for unread in self._unread:
            if only_namespaces is not None and unread.namespace not in only_namespaces:
                continue
            reason = _reason(unread)
            grouped.setdefault((unread.namespace, reason, unread.verb), []).append(unread)
        by_kinds: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
        samples: dict[tuple[tuple[str, ...], str, str], list[Unread]] = {}
        for (namespace, reason, verb), unread_lists in grouped.items():
            key = (tuple(sorted({unread.kind.title for unread in unread_lists})), reason, verb)
            by_kinds.setdefault(key, []).append(namespace)
            samples.setdefault(key, unread_lists)
        gaps = [self._gap(names, samples[key]) for key, names in by_kinds.items()]
        return [*self._gaps, *gaps]

    def _gap(self, namespaces: list[str], unread_lists: list[Unread]) -> Gap:
        kinds = sorted({unread.kind.title for unread in unread_lists})
        first = unread_lists[0]
        subject = "logs of failing containers" if first.verb == "logs" else f"live {_kinds_text(kinds)}"
        if first.partly:
            subject = f"some of the {subject}"
        return Gap(
            kind=gap_kind(first.problem),
            what=f"{subject}{_namespaces_text(namespaces)}{self.location}",
            why=_why(unread_lists),
            how_to_get=_how_to_get(unread_lists, namespaces),
        )


def _reason(unread: Unread) -> str:
    if isinstance(unread.problem, Forbidden):
        return "forbidden"
    return f"{type(unread.problem).__name__} {unread.partly}"


def _why(unread_lists: list[Unread]) -> str:
    problem = unread_lists[0].problem
    if isinstance(problem, Forbidden):
        message = problem.server_message or "the API server does not allow it"
        return f"forbidden: {message}" if len(unread_lists) == 1 else f"forbidden, for example: {message}"
    return f"{problem.what}: {problem.why}" if problem.why else problem.what


def _how_to_get(unread_lists: list[Unread], namespaces: list[str]) -> str:
    problem = unread_lists[0].problem
    if not isinstance(problem, Forbidden):
        if isinstance(problem, (TimedOut, Overloaded, Unreachable)):
            return "try again, or allow more time with --timeout"
        return problem.next or "try again"
    role = "ClusterRole" if "" in namespaces or len(namespaces) > 1 else "Role"
    return f"a {role} with {rules_for(unread_lists)}"


def rules_for(unread_lists: Iterable[Unread]) -> str:
    """The minimal RBAC rules as YAML in one line: one per API group."""
    groups: dict[str, set[str]] = {}
    verbs: set[str] = set()
    for unread in unread_lists:
        is_log = unread.verb == "logs"
        groups.setdefault(unread.kind.group, set()).add("pods/log" if is_log else unread.kind.plural)
        verbs.add("get" if is_log else unread.verb)
    allowed = ", ".join(sorted(verbs))
    return "; ".join(
        f'{{apiGroups: ["{group}"], resources: [{", ".join(sorted(plurals))}], verbs: [{allowed}]}}'
        for group, plurals in sorted(groups.items())
    )


def _kinds_text(names: list[str]) -> str:
    if len(names) <= _MAX_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MAX_NAMED - 1])} and {len(names) - _MAX_NAMED + 1} more kinds"


def _namespaces_text(namespaces: list[str]) -> str:
    names = sorted(namespace for namespace in namespaces if namespace)
    if not names:
        return ""
    if len(names) == 1:
        return f" in namespace {names[0]}"
    names_text = ", ".join(names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" in namespaces {names_text}{more}"
