"""`whysync lab`: scenarios that are listed, shown, played and diagnosed, or tested."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit, exit_of
from whysync.cli.output_flags import add_fail_on_flags, add_output_flag, add_proof_flags
from whysync.cli.parser import Parser
from whysync.errors import UsageError, WhysyncError
from whysync.reports.output import out
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.report import Report
    from whysync.facts.snapshot import Snapshot
    from whysync.lab.scenario import Scenario
    from whysync.reports import lab_pages


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.epilog = """\
Time is simulated: an hour passes in an instant. Nothing outside is touched. docs/lab.md tells the format.
run has the exit codes of diagnose; test exits 0 when all came out as expected, else 1."""
    deeds = verb.add_subparsers(dest="what", metavar="list|show|run|test", required=True, parser_class=Parser)
    for name, help, build in (
        ("list", "all scenarios, and the cause of each", _list_flags),
        (
            "show",
            "the story, the manifests, what happens when (-o yaml: the file itself, to copy)",
            _show_flags,
        ),
        ("run", "play it on a cluster in memory, then diagnose what came out", _run_flags),
        ("test", "does each come out as its file expects? without a name: all of whysync's own", _test_flags),
    ):
        made = deeds.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
        )
        made.add_argument(
            "names", metavar="NAME|FILE", nargs="*", help="a scenario, a file of your own, a folder of them"
        )
        build(made)


def _list_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb)


def _show_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, ("text", "yaml", "json"))


def _run_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, help="how to show what came out")
    verb.add_argument(
        "--until", metavar="TIME", type=_duration, help="stop there: simulated time, such as 5m"
    )
    verb.add_argument(
        "--speed",
        metavar="N",
        type=_speed,
        default=1.0,
        help="of the picture on a terminal: 2 is twice as fast, 0 shows lines instead",
    )
    verb.add_argument(
        "--bundle", metavar="DIR", default="", help="write the end of the run as a bundle, into a new folder"
    )
    verb.add_argument(
        "--check", action="store_true", help="compare with what the scenario expects, as lab test does"
    )
    add_proof_flags(verb, show=True)
    add_fail_on_flags(verb)


def _test_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, ("text", "name"), help="name: the failed ones")


def _duration(written: str) -> float:
    """`5m`, `90s`."""
    from whysync.golang.duration import BadDuration, parse_duration

    try:
        found = parse_duration(written)
    except BadDuration as problem:
        raise argparse.ArgumentTypeError(f"{written!r} is no duration such as 90s or 5m") from problem
    if found.total_seconds() < 0:
        raise argparse.ArgumentTypeError("it cannot end before it begins")
    return found.total_seconds()


def _speed(written: str) -> float:
    try:
        speed = float(written)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"{written!r} is no speed such as 2 or 0.5")
    return speed


def run(options: argparse.Namespace) -> int:
    match options.what:
        case "list":
            return _list(options, options.terminal)
        case "show":
            return _show(options, options.terminal)
        case "test":
            return _test(_chosen(options.names) or _all(), options.terminal, format=options.output)
        case _:
            return _run(options, options.terminal)


def _all() -> list[Scenario]:
    from whysync.lab import library

    return [library.built_in(name) for name in library.names()]


def _chosen(names: list[str]) -> list[Scenario]:
    from whysync.lab import library

    return [scenario for name in names for scenario in library.find(name)]


def _needed(options: argparse.Namespace) -> list[Scenario]:
    if not options.names:
        raise UsageError(
            what=f"whysync lab {options.what} needs the name of a scenario, or a file",
            next="whysync lab list shows all names; whysync lab run hpa-loop plays one",
        )
    return _chosen(options.names)


def _list(options: argparse.Namespace, terminal: Terminal) -> int:
    from whysync.reports import lab_pages

    entries = [_entry(one) for one in _chosen(options.names) or _all()]
    out().put(lab_pages.listing(entries, terminal, format=options.output))
    return Exit.OK


def _entry(scenario: Scenario) -> lab_pages.Entry:
    from whysync.reports import lab_pages

    return lab_pages.Entry(
        name=scenario.name, title=scenario.title, causes=scenario.causes, source=scenario.source
    )


def _show(options: argparse.Namespace, terminal: Terminal) -> int:
    from whysync.reports import lab_pages

    as_file = options.output == "yaml"
    for number, scenario in enumerate(_needed(options)):
        if number:
            out().say("---" if as_file else "")
        if as_file:
            out().say(*scenario.text.removesuffix("\n").split("\n"))
        else:
            own = "" if scenario.name in options.names else scenario.origin
            out().put(lab_pages.page(scenario.name, scenario.text, terminal, format=options.output, path=own))
    return Exit.OK


def _run(options: argparse.Namespace, terminal: Terminal) -> int:
    scenarios = _needed(options)
    if len(scenarios) > 1 and (options.output not in ("text", "wide", "name") or options.bundle):
        raise UsageError(
            what="several scenarios were named",
            why="a bundle, and an output that is data, hold one",
            next="run them one by one",
        )
    if options.check:
        return _test(scenarios, terminal, format=options.output)
    codes: list[Exit] = []
    for number, scenario in enumerate(scenarios):
        if number:
            out().say("")
        codes.append(_played(scenario, options, terminal))
    if options.exit_zero:
        return Exit.OK
    return next((code for code in (Exit.FOUND, Exit.UNSURE) if code in codes), Exit.OK)


def _played(scenario: Scenario, options: argparse.Namespace, terminal: Terminal) -> Exit:
    from whysync.lab.bundle import write_bundle
    from whysync.lab.playback import show_run
    from whysync.lab.player import play
    from whysync.reports import diagnose_view

    done = play(scenario, until=options.until)
    snapshot = done.snapshot()
    if options.bundle:
        write_bundle(snapshot, Path(options.bundle))
    report = _diagnosed(snapshot, prove=not options.no_proof)
    for_people = options.output in ("text", "wide")
    if for_people:
        show_run(done, report, terminal, speed=options.speed)
    if for_people and not report.apps:
        out().say("No Application is left that could be diagnosed.")
    else:
        # Without a bundle nothing is left of this cluster that `whysync fix` could read.
        source_flags = f" --bundle {shlex.quote(options.bundle)}" if options.bundle else None
        text = diagnose_view.render(
            report, terminal, format=options.output, proofs=options.show_proof, source_flags=source_flags
        )
        out().put(text)
    return exit_of(report, fail_on=options.fail_on)


def _diagnosed(snapshot: Snapshot, *, prove: bool = True) -> Report:
    """Applications may be deleted in a scenario; where none is left, there is nothing to say."""
    from whysync import app
    from whysync.diagnosis.snapshot_index import SnapshotIndex

    found = app.cases(SnapshotIndex(snapshot)) if snapshot.applications else ()
    return app.diagnose(found, prove=prove)


def _test(scenarios: list[Scenario], terminal: Terminal, *, format: str) -> int:
    """Does each of them come out as it says? One that cannot be played at all fails too."""
    from whysync.lab.expectations import differences
    from whysync.lab.player import play
    from whysync.reports import lab_pages

    failed: list[str] = []
    for scenario in scenarios:
        try:
            done = play(scenario)
            found = differences(scenario, _diagnosed(done.snapshot()))
        except WhysyncError as problem:
            found = [problem.what]
        if found:
            failed.append(scenario.name)
        if format != "name":
            out().say(*lab_pages.verdict(scenario.name, found, terminal))
    if format == "name":
        out().say(*failed)
    else:
        count = f"{len(scenarios) - len(failed)} of {len(scenarios)}"
        out().say("", f"{count} came out as expected")
    return Exit.FOUND if failed else Exit.OK
