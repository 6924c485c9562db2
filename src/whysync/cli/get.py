"""`whysync get`: show an app, as in `argocd app get`."""

from __future__ import annotations

import argparse

from whysync.cli.exits import Exit
from whysync.cli.output_flags import add_output_flag, add_watch_flag
from whysync.cli.source_flags import add_source_flags
from whysync.reports.output import out


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="+", help="name or namespace/name")
    add_output_flag(verb)
    verb.add_argument("--show-operation", action="store_true", help="show the last sync operation")
    add_watch_flag(verb)
    add_source_flags(verb)


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import facts
    from whysync.reports import get_view

    cases = app.cases(facts(options), options.apps)
    text = get_view.render(
        cases, options.terminal, format=options.output, show_operation=options.show_operation
    )
    out().put(text)
    return Exit.OK
