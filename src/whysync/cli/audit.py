"""`whysync audit`: report risks of apps that work today."""

from __future__ import annotations

import argparse

from whysync.cli.exits import Exit
from whysync.cli.filters import add_selector_flag, matching_labels
from whysync.cli.output_flags import add_fail_on_flags, add_output_flag
from whysync.cli.source_flags import add_source_flags
from whysync.reports.output import out


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    add_output_flag(verb, ("text", "json", "yaml", "markdown"))
    add_selector_flag(verb)
    add_fail_on_flags(verb)
    add_source_flags(verb)


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.audit.auditing import audit as audited
    from whysync.audit.view import render
    from whysync.cli.progress import with_progress
    from whysync.cli.sources import facts
    from whysync.diagnosis.finding import Severity

    cases = matching_labels(app.cases(facts(options), options.apps), options)
    audit = with_progress(
        lambda progress: audited(cases, progress=progress),
        lambda name, done, left: f"auditing {name}: {done:,} of {len(cases):,}{left}",
        lambda: len(cases),
    )
    out().put(render(audit, options.terminal, format=options.output))
    if options.exit_zero:
        return Exit.OK
    if audit.fails(Severity(options.fail_on)):
        return Exit.FOUND
    return Exit.UNSURE if audit.gaps else Exit.OK
