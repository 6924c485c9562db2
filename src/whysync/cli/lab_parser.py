"""The flags of `whysync lab`, one parser for each of its deeds."""

from __future__ import annotations

import argparse

from whysync.cli.parser import OUTPUTS, Parser, common, judging, showing_proofs


def lab(verb: argparse.ArgumentParser) -> None:
    verb.epilog = """\
Time is simulated: an hour passes in an instant. Nothing outside is touched. docs/lab.md tells the format.
run has the exit codes of diagnose; test exits 0 when all came out as expected, else 1."""
    deeds = verb.add_subparsers(dest="what", metavar="list|show|run|test", required=True, parser_class=Parser)
    for name, help, build in (
        ("list", "all scenarios, and the cause of each", _lab_list),
        (
            "show",
            "the story, the manifests, what happens when (-o yaml: the file itself, to copy)",
            _lab_show,
        ),
        ("run", "play it on a cluster in memory, then diagnose what came out", _lab_run),
        ("test", "does each come out as its file expects? without a name: all of whysync's own", _lab_test),
    ):
        made = deeds.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
        )
        made.add_argument(
            "names", metavar="NAME|FILE", nargs="*", help="a scenario, a file of your own, a folder of them"
        )
        build(made)
        common(made)


def _lab_list(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", choices=OUTPUTS, default="text", help="how to show it")


def _lab_show(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-o", "--output", choices=("text", "yaml", "json"), default="text", help="how to show it"
    )


def _lab_run(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", choices=OUTPUTS, default="text", help="how to show what came out")
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
    showing_proofs(verb)
    judging(verb)


def _lab_test(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-o", "--output", choices=("text", "name"), default="text", help="name: the failed ones"
    )


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
