"""`whysync lab`: list, show, run and test scenarios on an in-memory cluster."""

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
Time is simulated, and nothing outside of the process is changed. See docs/lab.md for the file format.

exit codes: run as diagnose; test 0 if all scenarios end as expected, 1 otherwise"""
    commands = verb.add_subparsers(
        dest="what", metavar="list|show|run|test", required=True, parser_class=Parser
    )
    for name, help, build in (
        ("list", "list scenarios with their causes", _list_flags),
        ("show", "show the story, the manifests and the timeline (-o yaml: the file)", _show_flags),
        ("run", "run a scenario on an in-memory cluster and diagnose the result", _run_flags),
        ("test", "check that scenarios end as expected (default: all built-in ones)", _test_flags),
    ):
        command = commands.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
        )
        command.add_argument(
            "names", metavar="NAME|FILE", nargs="*", help="built-in scenario, file, or folder of files"
        )
        build(command)


def _list_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb)


def _show_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, ("text", "yaml", "json"))


def _run_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb)
    verb.add_argument(
        "--until", metavar="TIME", type=_duration, help="stop after this simulated time, such as 5m"
    )
    verb.add_argument(
        "--speed",
        metavar="N",
        type=_speed,
        default=1.0,
        help="speed of the animation: 2 is twice as fast, 0 prints lines instead",
    )
    verb.add_argument(
        "--bundle", metavar="DIR", default="", help="write the final state as a bundle to a new folder"
    )
    verb.add_argument(
        "--check", action="store_true", help="check the expectations of the scenario, as in lab test"
    )
    add_proof_flags(verb, show=True)
    add_fail_on_flags(verb)


def _test_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, ("text", "name"), help="output format (name lists failed scenarios)")


def _duration(value: str) -> float:
    """`5m`, `90s`."""
    from whysync.golang.duration import BadDuration, parse_duration

    try:
        duration = parse_duration(value)
    except BadDuration as problem:
        raise argparse.ArgumentTypeError(f"invalid duration {value!r}; examples: 90s, 5m") from problem
    if duration.total_seconds() < 0:
        raise argparse.ArgumentTypeError(f"invalid duration {value!r}; it must not be negative")
    return duration.total_seconds()


def _speed(value: str) -> float:
    try:
        speed = float(value)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"invalid speed {value!r}; examples: 2, 0.5")
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
            what=f"whysync lab {options.what} requires the name of a scenario or a file",
            next="see whysync lab list; example: whysync lab run hpa-loop",
        )
    return _chosen(options.names)


def _list(options: argparse.Namespace, terminal: Terminal) -> int:
    from whysync.reports import lab_pages

    entries = [_entry(scenario) for scenario in _chosen(options.names) or _all()]
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
            path = "" if scenario.name in options.names else scenario.origin
            out().put(
                lab_pages.page(scenario.name, scenario.text, terminal, format=options.output, path=path)
            )
    return Exit.OK


def _run(options: argparse.Namespace, terminal: Terminal) -> int:
    scenarios = _needed(options)
    if len(scenarios) > 1 and (options.output not in ("text", "wide", "name") or options.bundle):
        raise UsageError(
            what="several scenarios are given",
            why=f"{'--bundle' if options.bundle else f'-o {options.output}'} supports a single scenario",
            next="run them one by one",
        )
    if options.check:
        return _test(scenarios, terminal, format=options.output)
    codes: list[Exit] = []
    for number, scenario in enumerate(scenarios):
        if number:
            out().say("")
        codes.append(_run_one(scenario, options, terminal))
    if options.exit_zero:
        return Exit.OK
    return next((code for code in (Exit.FOUND, Exit.UNSURE) if code in codes), Exit.OK)


def _run_one(scenario: Scenario, options: argparse.Namespace, terminal: Terminal) -> Exit:
    from whysync.lab.bundle import write_bundle
    from whysync.lab.playback import show_run
    from whysync.lab.player import play
    from whysync.reports import diagnose_view

    run = play(scenario, until=options.until)
    snapshot = run.snapshot()
    if options.bundle:
        write_bundle(snapshot, Path(options.bundle))
    report = _diagnosed(snapshot, prove=not options.no_proof)
    for_people = options.output in ("text", "wide")
    if for_people:
        show_run(run, report, terminal, speed=options.speed)
    if for_people and not report.apps:
        out().say("No Application is left to diagnose.")
    else:
        # `whysync fix` can read this cluster only if it was written to a bundle.
        source_flags = f" --bundle {shlex.quote(options.bundle)}" if options.bundle else None
        text = diagnose_view.render(
            report, terminal, format=options.output, proofs=options.show_proof, source_flags=source_flags
        )
        out().put(text)
    return exit_of(report, fail_on=options.fail_on)


def _diagnosed(snapshot: Snapshot, *, prove: bool = True) -> Report:
    """The diagnosis; it is empty if the scenario deleted all Applications."""
    from whysync import app
    from whysync.diagnosis.snapshot_index import SnapshotIndex

    cases = app.cases(SnapshotIndex(snapshot)) if snapshot.applications else ()
    return app.diagnose(cases, prove=prove)


def _test(scenarios: list[Scenario], terminal: Terminal, *, format: str) -> int:
    """Check the expectations of each scenario; one that cannot be run fails."""
    from whysync.lab.expectations import differences
    from whysync.lab.player import play
    from whysync.reports import lab_pages

    failed: list[str] = []
    for scenario in scenarios:
        try:
            run = play(scenario)
            problems = differences(scenario, _diagnosed(run.snapshot()))
        except WhysyncError as error:
            problems = [error.what]
        if problems:
            failed.append(scenario.name)
        if format != "name":
            out().say(*lab_pages.verdict(scenario.name, problems, terminal))
    if format == "name":
        out().say(*failed)
    else:
        count = f"{len(scenarios) - len(failed)} of {len(scenarios)}"
        out().say("", f"{count} passed")
    return Exit.FOUND if failed else Exit.OK
