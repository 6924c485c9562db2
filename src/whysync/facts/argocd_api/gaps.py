"""What could not be had, gathered so that one trouble of a thousand Applications is told once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from whysync.errors import WhysyncError
from whysync.facts.http.errors import HttpError
from whysync.facts.snapshot import Gap

T = TypeVar("T")
_SHOWN = 3


class Gaps:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[list[str], str]] = {}

    def add(self, what: str, of: str, why: str, how_to_get: str = "") -> None:
        """`what` of which Application (`of`, may be empty), and why not."""
        names, _ = self._found.setdefault((what, why), ([], how_to_get))
        if of not in names:
            names.append(of)

    async def unless(self, ask: Callable[[], Awaitable[T]], what: str, of: str, how_to_get: str) -> T | None:
        """The answer, or `None` and a gap. Asked when its turn comes: Ctrl-C before leaves nothing behind."""
        try:
            return await ask()
        except WhysyncError as problem:
            self.add(what, of, why(problem), how_to_get or problem.next)
            return None

    def told(self) -> tuple[Gap, ...]:
        gaps: list[Gap] = []
        for (what, why), (names, how) in self._found.items():
            of = sorted(name for name in names if name)
            gaps.append(Gap(what=f"{what} of {_list(of)}" if of else what, why=why, how_to_get=how))
        return tuple(sorted(gaps, key=lambda gap: (gap.what, gap.why)))


def why(problem: WhysyncError) -> str:
    """In the server's words where it has some: the path that was asked for says little."""
    if isinstance(problem, HttpError) and problem.said:
        return f"Argo CD says: {problem.said}"
    return f"{problem.what}: {problem.why}" if problem.why else problem.what


def _list(names: list[str]) -> str:
    shown = names[:_SHOWN]
    if len(names) > _SHOWN:
        return f"{', '.join(shown)} and {len(names) - _SHOWN} more Applications"
    return ", ".join(shown)
