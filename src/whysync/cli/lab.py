"""`whysync lab`: scenarios that are listed, shown, played and diagnosed, or tested."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from whysync import app
from whysync.argocd.app_controller.trace import TraceEvent
from whysync.cli.exits import Exit, exit_of
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.report import Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import UsageError, WhysyncError
from whysync.facts.snapshot import Snapshot
from whysync.lab import library
from whysync.lab.bundle import write_bundle
from whysync.lab.expectations import differences
from whysync.lab.player import ScenarioRun, play
from whysync.lab.scenario import Scenario
from whysync.reports import json_v1, lab_pages, list_view, markdown, terminal
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.lab_animation import Picture
from whysync.reports.lab_timeline import Line, lines_of, told
from whysync.reports.output import out
from whysync.reports.screen import Screen

# A run on a terminal takes that many seconds of real time, whatever it simulates.
_SHOW_SECONDS = 4.0
_FRAME_SECONDS = 0.4
_MOST_FRAMES = 250


def lab(options: argparse.Namespace, screen: Screen) -> int:
    match options.what:
        case "list":
            return _list(options, screen)
        case "show":
            return _show(options, screen)
        case "test":
            return _test(_chosen(options.names) or _all(), screen, form=options.output)
        case _:
            return _run(options, screen)


def _all() -> list[Scenario]:
    return [library.built_in(name) for name in library.names()]


def _chosen(names: list[str]) -> list[Scenario]:
    return [scenario for name in names for scenario in library.find(name)]


def _needed(options: argparse.Namespace) -> list[Scenario]:
    if not options.names:
        raise UsageError(
            what=f"whysync lab {options.what} needs the name of a scenario, or a file",
            next="whysync lab list shows all names; whysync lab run hpa-loop plays one",
        )
    return _chosen(options.names)


def _list(options: argparse.Namespace, screen: Screen) -> int:
    entries = [_entry(one) for one in _chosen(options.names) or _all()]
    out().put(lab_pages.listing(entries, screen, form=options.output))
    return Exit.OK


def _entry(scenario: Scenario) -> lab_pages.Entry:
    return lab_pages.Entry(
        name=scenario.name, title=scenario.title, causes=scenario.causes, source=scenario.source
    )


def _show(options: argparse.Namespace, screen: Screen) -> int:
    as_file = options.output == "yaml"
    for number, scenario in enumerate(_needed(options)):
        if number:
            out().say("---" if as_file else "")
        if as_file:
            out().say(*scenario.text.removesuffix("\n").split("\n"))
        else:
            own = "" if scenario.name in options.names else scenario.origin
            out().put(lab_pages.page(scenario.name, scenario.text, screen, form=options.output, file=own))
    return Exit.OK


def _run(options: argparse.Namespace, screen: Screen) -> int:
    scenarios = _needed(options)
    if len(scenarios) > 1 and (options.output not in ("text", "wide", "name") or options.bundle):
        raise UsageError(
            what="several scenarios were named",
            why="a bundle, and an output that is data, hold one",
            next="run them one by one",
        )
    if options.check:
        return _test(scenarios, screen, form=options.output)
    codes: list[Exit] = []
    for number, scenario in enumerate(scenarios):
        if number:
            out().say("")
        codes.append(_played(scenario, options, screen))
    if options.exit_zero:
        return Exit.OK
    return next((code for code in (Exit.FOUND, Exit.UNSURE) if code in codes), Exit.OK)


def _played(scenario: Scenario, options: argparse.Namespace, screen: Screen) -> Exit:
    done = play(scenario, until=options.until)
    snapshot = done.snapshot()
    if options.bundle:
        write_bundle(snapshot, Path(options.bundle))
    report = _diagnosed(snapshot, prove=not options.no_proof)
    match options.output:
        case "json":
            out().put(as_json(json_v1.report_v1(report)))
        case "yaml":
            out().put(as_yaml(json_v1.report_v1(report)))
        case "markdown":
            out().put(markdown.render(report))
        case "name":
            out().put(list_view.names(report))
        case form:
            _show_run(done, report, options, screen)
            if report.apps:
                # Without a bundle nothing is left of this world that `whysync fix` could look at.
                place = f" --bundle {shlex.quote(options.bundle)}" if options.bundle else None
                wide = form == "wide"
                out().put(terminal.render(report, screen, wide=wide, proofs=options.show_proof, place=place))
            else:
                out().say("No Application is left that could be diagnosed.")
    return exit_of(report, fail_on=Severity(options.fail_on))


def _diagnosed(snapshot: Snapshot, *, prove: bool = True) -> Report:
    """Applications may be deleted in a scenario; where none is left, there is nothing to say."""
    found = app.cases(SnapshotIndex(snapshot)) if snapshot.applications else ()
    return app.diagnose(found, prove=prove)


def _show_run(done: ScenarioRun, report: Report, options: argparse.Namespace, screen: Screen) -> None:
    """As a moving picture on a terminal, as lines elsewhere; then phases and waves as they ended."""
    scenario = done.scenario
    desired = {app.case.app.qualified_name: app.case.desired for app in report.apps}
    title = f"{scenario.name}   {scenario.title}"
    picture = Picture(title, scenario.starts, done.elapsed, desired)
    if out().is_terminal and options.speed > 0:
        _animate(done, picture, screen, options.speed)
    else:
        out().say(*_lines(done, screen, title))
        for moment in done.moments:
            picture.feed(moment)
        out().say(*picture.ending(screen))
    out().say("")


def _lines(done: ScenarioRun, screen: Screen, title: str) -> Iterator[str]:
    scenario = done.scenario
    yield from screen.wrap(title, indent=0)
    began = f"{scenario.starts:%A} {scenario.starts.day} {scenario.starts:%B %Y, %H:%M} UTC"
    yield from screen.wrap(
        f"Argo CD {scenario.argocd.version}; the clock is simulated and starts on {began}", indent=0
    )
    yield ""
    yield from told([*_deeds(done), *lines_of(done.moments)], scenario.starts, screen)
    yield f"{lab_pages.end_of(done.elapsed):>9}    the end"


def _deeds(done: ScenarioRun) -> Iterator[Line]:
    for deed in done.deeds:
        mark = "bad" if deed.failed else "deed"
        answer = f" ({deed.answer})" if deed.answer else ""
        yield Line(at=deed.at, mark=mark, text=f"{deed.text}{answer}", starts_round=True)


def _animate(done: ScenarioRun, picture: Picture, screen: Screen, speed: float) -> None:
    """Nothing is simulated here: the run is over, and is shown as if it went on."""
    scenes = sorted(
        [*((moment.at, 1, moment) for moment in done.moments), *((deed.at, 0, deed) for deed in done.deeds)],
        key=lambda scene: (scene[0], scene[1]),
    )
    height, before = 0, [""]
    some = len(scenes) // _MOST_FRAMES + 1
    pause = min(_FRAME_SECONDS, _SHOW_SECONDS * some / max(len(scenes), 1)) / speed
    with _hidden_cursor():
        for number, (at, _, what) in enumerate(scenes):
            if isinstance(what, TraceEvent):
                picture.feed(what)
            else:
                picture.note(at, what.text)
            if number % some:
                continue
            frame = picture.frame(screen)
            if frame != before:
                height, before = _draw(frame, height), frame
                time.sleep(pause)
        picture.end()
        _draw(picture.frame(screen), height)


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
    out().show_cursor(shown=False)
    try:
        yield
    finally:
        out().show_cursor(shown=True)


def _test(scenarios: list[Scenario], screen: Screen, *, form: str) -> int:
    """Does each of them come out as it says? One that cannot be played at all fails too."""
    failed: list[str] = []
    for scenario in scenarios:
        try:
            done = play(scenario)
            found = differences(scenario, _diagnosed(done.snapshot()))
        except WhysyncError as problem:
            found = [problem.what]
        if found:
            failed.append(scenario.name)
        if form != "name":
            out().say(*lab_pages.verdict(scenario.name, found, screen))
    if form == "name":
        out().say(*failed)
    else:
        count = f"{len(scenarios) - len(failed)} of {len(scenarios)}"
        out().say("", f"{count} came out as expected")
    return Exit.FOUND if failed else Exit.OK
