"""`whysync audit`: what will be trouble later, after the first sync."""

from __future__ import annotations

import argparse

from whysync import app
from whysync.audit.auditing import audit as audited
from whysync.audit.view import render
from whysync.cli.exits import Exit
from whysync.cli.filters import chosen, facts
from whysync.diagnosis.finding import Severity
from whysync.reports.output import out
from whysync.reports.screen import Screen


def audit(options: argparse.Namespace, screen: Screen) -> int:
    cases = chosen(app.cases(facts(options), options.apps), options)
    found = audited(cases)
    out().put(render(found, screen, form=options.output))
    if options.exit_zero:
        return Exit.OK
    if found.fails(Severity(options.fail_on)):
        return Exit.FOUND
    return Exit.UNSURE if found.gaps else Exit.OK
