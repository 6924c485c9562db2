"""`whysync collect`: what a live source knows, taken home as a bundle without secrets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from whysync import app
from whysync.cli.exits import Exit
from whysync.cli.filters import place_of, with_progress
from whysync.facts.collect import CollectedCounts, Target
from whysync.reports.output import out
from whysync.reports.screen import Screen

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


def collect(options: argparse.Namespace, screen: Screen) -> int:
    target = Target.of(options.output)
    place = place_of(options)
    taken = with_progress(lambda progress: app.collect(place, target, progress=progress))
    out().say(*summary(taken, screen))
    return Exit.UNSURE if taken.gaps else Exit.OK


def summary(taken: CollectedCounts, screen: Screen) -> Iterator[str]:
    size = f"{taken.bytes / 1e6:.1f} MB" if taken.bytes >= 100_000 else f"{max(1, taken.bytes // 1000)} kB"
    yield f"{screen.paint(str(taken.path), 'bold')}   {taken.files} files, {size}"
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
            yield from screen.wrap(f"{gap.what}: {gap.why}", indent=6, first="    -")
            if gap.how_to_get:
                yield from screen.wrap(gap.how_to_get, indent=6)
        if len(taken.gaps) > _MOST_GAPS:
            yield f"    and {len(taken.gaps) - _MOST_GAPS} more: see gaps in bundle.yaml"
    yield ""
    yield f"  next     whysync diagnose --bundle {taken.path}"
