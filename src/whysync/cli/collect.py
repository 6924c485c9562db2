"""`whysync collect`: write the facts of a live source to a bundle without secrets."""

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
_LABELS = {
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
    verb.add_argument(
        "--project", metavar="NAME", action=Append, help="only apps with this project (repeatable)"
    )
    add_selector_flag(verb)
    add_source_flags(verb)
    verb.epilog = (
        "whysync collect shop -o shop.tar.gz\n"
        "whysync diagnose shop --bundle shop.tar.gz\n\n"
        "exit codes: 0 complete, 2 an error, 3 some facts could not be read (they are listed)"
    )


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import source_of, with_progress
    from whysync.facts.collect import Target

    target = Target.of(options.output)
    source = source_of(options)
    collected = with_progress(lambda progress: app.collect(source, target, progress=progress))
    out().say(*summary(collected, options.terminal))
    return Exit.UNSURE if collected.gaps else Exit.OK


def summary(collected: CollectedCounts, terminal: Terminal) -> Iterator[str]:
    size = (
        f"{collected.bytes / 1e6:.1f} MB"
        if collected.bytes >= 100_000
        else f"{max(1, collected.bytes // 1000)} kB"
    )
    yield f"{terminal.paint(str(collected.path), 'bold')}   {collected.files} files, {size}"
    if collected.resumed:
        yield f"  resumed: {collected.resumed} Applications were collected before"
    yield ""
    yield "  collected"
    for name, count in collected.counts.items():
        yield f"    {count:>7,}  {_LABELS.get(name, name)}"
    yield ""
    masked = (
        f"{collected.masked} secret values, as <masked N>" if collected.masked else "no secret values found"
    )
    yield f"  masked   {masked}; values masked by Argo CD stay ++++++++"
    if collected.gaps:
        yield ""
        yield "  not readable"
        for gap in collected.gaps[:_MOST_GAPS]:
            yield from terminal.wrap(f"{gap.what}: {gap.why}", indent=6, first="    -")
            if gap.how_to_get:
                yield from terminal.wrap(gap.how_to_get, indent=6)
        if len(collected.gaps) > _MOST_GAPS:
            yield f"    and {len(collected.gaps) - _MOST_GAPS} more: see `gaps` in bundle.yaml"
    yield ""
    yield f"  next     whysync diagnose --bundle {collected.path}"
