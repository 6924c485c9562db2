"""Shows a finished run: an animation on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Generator, Iterator

from whysync.argocd.app_controller.trace import TraceEvent
from whysync.diagnosis.report import Report
from whysync.lab.player import ScenarioRun
from whysync.reports import lab_pages
from whysync.reports.lab_animation import Picture
from whysync.reports.lab_timeline import Line, lines_of, timeline_lines
from whysync.reports.output import out
from whysync.reports.terminal import Terminal

# A run on a terminal takes that many seconds of real time, whatever it simulates.
_SHOW_SECONDS = 4.0
_FRAME_SECONDS = 0.4
_MOST_FRAMES = 250


def show_run(run: ScenarioRun, report: Report, terminal: Terminal, *, speed: float) -> None:
    """Show the run: animated on a terminal, as lines elsewhere; then the final phases and waves."""
    scenario = run.scenario
    desired = {app.case.app.qualified_name: app.case.desired for app in report.apps}
    title = f"{scenario.name}   {scenario.title}"
    picture = Picture(title, scenario.starts, run.elapsed, desired)
    if out().is_terminal and speed > 0:
        _animate(run, picture, terminal, speed)
    else:
        out().say(*_lines(run, terminal, title))
        for moment in run.trace:
            picture.feed(moment)
        out().say(*picture.ending(terminal))
    out().say("")


def _lines(run: ScenarioRun, terminal: Terminal, title: str) -> Iterator[str]:
    scenario = run.scenario
    yield from terminal.wrap(title, indent=0)
    start = f"{scenario.starts:%A} {scenario.starts.day} {scenario.starts:%B %Y, %H:%M} UTC"
    yield from terminal.wrap(
        f"Argo CD {scenario.argocd.version}; the clock is simulated and starts on {start}", indent=0
    )
    yield ""
    yield from timeline_lines([*_action_lines(run), *lines_of(run.trace)], scenario.starts, terminal)
    yield f"{lab_pages.end_of(run.elapsed):>9}    the end"


def _action_lines(run: ScenarioRun) -> Iterator[Line]:
    for action in run.actions:
        mark = "bad" if action.failed else "action"
        output = f" ({action.answer})" if action.answer else ""
        yield Line(at=action.at, mark=mark, text=f"{action.text}{output}", starts_round=True)


def _animate(run: ScenarioRun, picture: Picture, terminal: Terminal, speed: float) -> None:
    """Replay the finished run; nothing is simulated here."""
    scenes = sorted(
        [
            *((moment.at, 1, moment) for moment in run.trace),
            *((action.at, 0, action) for action in run.actions),
        ],
        key=lambda scene: (scene[0], scene[1]),
    )
    height, before = 0, [""]
    some = len(scenes) // _MOST_FRAMES + 1
    pause = min(_FRAME_SECONDS, _SHOW_SECONDS * some / max(len(scenes), 1)) / speed
    with _hidden_cursor():
        for number, (at, _, item) in enumerate(scenes):
            if isinstance(item, TraceEvent):
                picture.feed(item)
            else:
                picture.note(at, item.text)
            if number % some:
                continue
            frame = picture.frame(terminal)
            if frame != before:
                height, before = _draw(frame, height), frame
                time.sleep(pause)
        picture.end()
        _draw(picture.frame(terminal), height)


def _draw(lines: list[str], before: int) -> int:
    """Over the picture before; one that is higher than the terminal could not be drawn over."""
    rows = max(shutil.get_terminal_size((80, 24)).lines - 2, 3)
    if len(lines) > rows:
        lines = [*lines[: rows - 1], f"  … {len(lines) - rows + 1} more lines"]
    out().redraw(lines, over=before)
    return len(lines)


@contextlib.contextmanager
def _hidden_cursor() -> Generator[None]:
    """Ctrl-C in the middle must not leave a terminal without one."""
    out().show_cursor(visible=False)
    try:
        yield
    finally:
        out().show_cursor(visible=True)
