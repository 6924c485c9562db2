"""Collect gaps, so that a problem that affects many Applications is reported once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from whysync.errors import WhysyncError
from whysync.facts.http.errors import HttpError, gap_kind
from whysync.facts.snapshot import Gap, GapKind

T = TypeVar("T")
_SHOWN = 3


class Gaps:
    def __init__(self) -> None:
        self._by_subject: dict[tuple[str, str], tuple[list[str], GapKind, str]] = {}

    def add(self, kind: GapKind, what: str, of: str, why: str, how_to_get: str = "") -> None:
        """`what` could not be read for which Application (`of`, may be empty), and why."""
        names, _, _ = self._by_subject.setdefault((what, why), ([], kind, how_to_get))
        if of not in names:
            names.append(of)

    async def unless(
        self, request: Callable[[], Awaitable[T]], what: str, of: str, how_to_get: str
    ) -> T | None:
        """The response, or `None` and a gap. The request is sent when this is awaited."""
        try:
            return await request()
        except WhysyncError as problem:
            self.add(gap_kind(problem), what, of, why(problem), how_to_get or problem.next)
            return None

    def all(self) -> tuple[Gap, ...]:
        gaps: list[Gap] = []
        for (what, why), (names, kind, how) in self._by_subject.items():
            of = sorted(name for name in names if name)
            gaps.append(
                Gap(kind=kind, what=f"{what} of {_list(of)}" if of else what, why=why, how_to_get=how)
            )
        return tuple(sorted(gaps, key=lambda gap: (gap.what, gap.why)))


def why(problem: WhysyncError) -> str:
    """The server's own message if there is one: the requested path alone is not helpful."""
    if isinstance(problem, HttpError) and problem.server_message:
        return f"Argo CD says: {problem.server_message}"
    return f"{problem.what}: {problem.why}" if problem.why else problem.what


def _list(names: list[str]) -> str:
    shown = names[:_SHOWN]
    if len(names) > _SHOWN:
        return f"{', '.join(shown)} and {len(names) - _SHOWN} more Applications"
    return ", ".join(shown)
