"""Progress of `whysync wait`: phases and waves on a terminal, otherwise one line per change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from whysync.argocd.api.application import ResourceResult
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.diagnosis.case import Case
from whysync.errors import SourceError
from whysync.reports.lab_animation import Progress, elapsed
from whysync.reports.output import Out, is_styled
from whysync.reports.terminal import Terminal, one_line
from whysync.wait.goal import Distance, Goal


def progress_of(case: Case) -> Progress:
    """Progress of the last or running sync, drawn as in the lab."""
    progress = Progress(case.app.name, case.desired)
    for event in _events(case):
        progress.feed(event)
    return progress


def _events(case: Case) -> Iterator[TraceEvent]:
    at, name, status, state = case.now, case.qualified_name, case.app.status, case.operation
    if state is not None:
        yield TraceEvent(at=at, app=name, kind=TraceKind.STARTED)
        for result in case.results:
            row = case.rows.get(result.key)
            yield TraceEvent(
                at=at,
                app=name,
                kind=TraceKind.RESULT,
                about=result.ref,
                phase=result.sync_phase or result.hook_type or "Sync",
                wave=row.sync_wave if row is not None else 0,
                status=_state(result),
                text="pruned" if result.status == "Pruned" else result.message,
            )
        yield TraceEvent(at=at, app=name, kind=TraceKind.STEP, phase=state.phase, text=state.message)
    status_text = f"{status.sync.status or 'Unknown'}, {status.health.status or 'Unknown'}"
    yield TraceEvent(at=at, app=name, kind=TraceKind.STATUS, text=status_text)


def _state(result: ResourceResult) -> str:
    return result.status if result.status == "SyncFailed" else result.hook_phase or result.status


class Lines:
    """Progress for logs: one line per change."""

    def __init__(self, out: Out, terminal: Terminal) -> None:
        self._out = out
        self._terminal = terminal
        self._printed: dict[str, str] = {}

    def on_poll(self, cases: Sequence[Case], distances: Sequence[Distance], elapsed: float) -> None:
        for case, distance in zip(cases, distances, strict=True):
            name = case.qualified_name
            self._print(name, progress_of(case).state_line(self._terminal), elapsed)
            for result in case.results:
                line = f"  {result.sync_phase or 'Sync'}  {result.ref}: {_state(result)}"
                message = f" ({one_line(result.message, 200)})" if result.message else ""
                self._print(f"{name} {result.sync_phase} {result.key}", f"{line}{message}", elapsed)
            if distance.stale:
                self._print(f"{name} stale", f"  {', '.join(distance.missing)}", elapsed)

    def on_read_error(self, problem: SourceError, elapsed: float) -> None:
        self._print("problem", f"not read: {one_line(problem.what)}; retrying", elapsed)

    def _print(self, key: str, line: str, seconds: float) -> None:
        if self._printed.get(key) != line:
            self._printed[key] = line
            self._out.say(f"{clock(seconds):>7}  {line}")


class Frames:
    """Progress for a terminal, redrawn in place."""

    def __init__(self, out: Out, terminal: Terminal, goal: Goal, timeout: float, *, height: int = 24) -> None:
        self._out = out
        self._terminal = terminal
        self._goal = goal
        self._timeout = timeout
        self._height = max(height - 1, 4)
        self._drawn = 0

    def on_poll(self, cases: Sequence[Case], distances: Sequence[Distance], elapsed: float) -> None:
        lines = [f"{clock(elapsed)} of {clock(self._timeout)}   waiting for {self._goal!s}", ""]
        for case, distance in zip(cases, distances, strict=True):
            progress = progress_of(case)
            lines += [f"  {progress.state_line(self._terminal)}", *progress.waves(self._terminal)]
            lines += [f"    {self._terminal.mark('wait')} {missing}" for missing in distance.missing]
        self._draw(lines)

    def on_read_error(self, problem: SourceError, elapsed: float) -> None:
        self._draw([f"{clock(elapsed)}  not read: {one_line(problem.what)}; retrying"])

    def _draw(self, lines: list[str]) -> None:
        visible = [self._clipped(line) for line in lines[: self._height]]
        self._out.redraw(visible, over=self._drawn)
        self._drawn = len(visible)

    def _clipped(self, line: str) -> str:
        """Cut a line to the width of the screen; styled lines and those of waves fit already."""
        width = self._terminal.width
        return line if len(line) <= width or is_styled(line) else f"{line[: width - 1]}…"


def clock(seconds: float) -> str:
    return elapsed(timedelta(seconds=seconds))
