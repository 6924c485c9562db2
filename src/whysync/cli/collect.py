"""`whysync collect`: what a live source knows, taken home as a bundle without secrets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.filters import add_selector_flag
from whysync.cli.flag_types import Append
from whysync.cli.source_flags import add_source_flags
from whysync.reports.output import out
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.facts.collect import CollectedCounts

_MOST_GAPS = 30
_WORDS = {
    "applications": "Applications",
    "projects": "AppProjects",
    "settings": "settings",
    "desired": "rendered manifests",
    "live": "live objects",
    "events": "Events",
    "logs": "logs",
}


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument(
        "-o",
        "--output",
        metavar="DIR|FILE.tar.gz",
        default="whysync-bundle.tar.gz",
        help="output path (default whysync-bundle.tar.gz); an interrupted collection is resumed",
    )
    verb.add_argument("--project", metavar="VALUE", action=Append, help="only apps with this project")
    add_selector_flag(verb)
    add_source_flags(verb)
    verb.epilog = (
        "whysync collect shop -o shop.tar.gz, and elsewhere: whysync diagnose --bundle shop.tar.gz\n\n"
        "exit codes: 0 complete, 2 an error, 3 something could not be read (it is listed)"
    )


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import source_of, with_progress
    from whysync.facts.collect import Target

    target = Target.of(options.output)
    source = source_of(options)
    taken = with_progress(lambda progress: app.collect(source, target, progress=progress))
    out().say(*summary(taken, options.terminal))
    return Exit.UNSURE if taken.gaps else Exit.OK


def summary(taken: CollectedCounts, terminal: Terminal) -> Iterator[str]:
    size = f"{taken.bytes / 1e6:.1f} MB" if taken.bytes >= 100_000 else f"{max(1, taken.bytes // 1000)} kB"
    yield f"{terminal.paint(str(taken.path), 'bold')}   {taken.files} files, {size}"
    if taken.resumed:
        yield f"  went on: {taken.resumed} Applications were there from a run before"
    yield ""
    yield "  took"
    for name, count in taken.counts.items():
        yield f"    {count:>7,}  {_WORDS.get(name, name)}"
    yield ""
    marks = f"{taken.masked} secret values, as <masked N>" if taken.masked else "nothing looked like a secret"
    yield f"  masked   {marks}; what Argo CD itself masked stays ++++++++"
    if taken.gaps:
        yield ""
        yield "  could not get"
        for gap in taken.gaps[:_MOST_GAPS]:
            yield from terminal.wrap(f"{gap.what}: {gap.why}", indent=6, first="    -")
            if gap.how_to_get:
                yield from terminal.wrap(gap.how_to_get, indent=6)
        if len(taken.gaps) > _MOST_GAPS:
            yield f"    and {len(taken.gaps) - _MOST_GAPS} more: see gaps in bundle.yaml"
    yield ""
    yield f"  next     whysync diagnose --bundle {taken.path}"
