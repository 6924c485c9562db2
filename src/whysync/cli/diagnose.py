"""`whysync diagnose`: explain why apps are not Synced and Healthy, and how to fix them."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from whysync.cli.exits import exit_code
from whysync.cli.filters import add_filter_flags, matching_columns, matching_labels
from whysync.cli.output_flags import (
    FLEET_OUTPUTS,
    add_fail_on_flags,
    add_output_flag,
    add_proof_flags,
    add_watch_flag,
)
from whysync.cli.source_flags import add_source_flags, same_source_flags
from whysync.errors import UsageError
from whysync.reports.output import out


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "apps",
        metavar="APP",
        nargs="*",
        help="name or namespace/name, or appset/NAME; without one: all that are broken",
    )
    add_output_flag(verb, FLEET_OUTPUTS)
    add_proof_flags(verb, show=True)
    add_fail_on_flags(verb)
    add_filter_flags(verb)
    add_watch_flag(verb)
    add_source_flags(verb)


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import diagnosed, facts, set_name
    from whysync.reports import diagnose_view

    set_names = tuple(name for argument in options.apps if (name := set_name(argument)))
    if set_names and len(set_names) < len(options.apps):
        raise UsageError(
            what="apps and ApplicationSets cannot be diagnosed together", next="run it once for each kind"
        )
    worlds = facts(options)
    sets = app.application_sets(worlds, set_names) if set_names else ()
    cases = app.cases_of_sets(worlds, sets) if set_names else app.cases(worlds, options.apps, partly=True)
    cases = matching_labels(cases, options)
    report = diagnosed(tuple(cases), prove=not options.no_proof, deadline=options.deadline)
    report = matching_columns(report, options)
    source_flags = same_source_flags(options)
    text = diagnose_view.render(
        report,
        options.terminal,
        format=options.output,
        proofs=options.show_proof,
        source_flags=source_flags,
        fleet=bool(set_names) or (not options.apps and len(report.apps) > 1),
        sets=sets,
    )
    out().put(text)
    return exit_code(replace(report, apps=(*(one.report for one in sets), *report.apps)), options)
