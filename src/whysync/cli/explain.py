"""`whysync explain`: the page of a rule or a cause."""

from __future__ import annotations

import argparse

from whysync.cli.exits import Exit
from whysync.cli.output_flags import add_output_flag
from whysync.reports.output import out


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("name", metavar="RULE|CAUSE", nargs="?", help="none lists them all")
    add_output_flag(verb)


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.diagnosis.rule import registry
    from whysync.reports import rule_pages

    rules = registry() if options.name is None else app.explained(options.name)
    pages = options.name is not None or options.output == "wide"
    out().put(rule_pages.render(rules, form=options.output, pages=pages))
    return Exit.OK
