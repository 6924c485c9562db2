"""`whysync list`: one line per app, with the cause of its problem."""

from __future__ import annotations

import argparse

from whysync.cli.exits import exit_code
from whysync.cli.filters import add_filter_flags, matching_columns, matching_labels
from whysync.cli.output_flags import FLEET_OUTPUTS, add_fail_on_flags, add_output_flag, add_watch_flag
from whysync.cli.source_flags import add_source_flags
from whysync.reports.output import out

_SORTS = (
    "severity", "name", "namespace", "cluster", "destination", "project", "sync", "health", "policy",
    "since", "cause",
)  # fmt: skip


def add_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(verb, FLEET_OUTPUTS)
    verb.add_argument("--broken", action="store_true", help="only apps that need attention")
    verb.add_argument(
        "--sort",
        choices=_SORTS,
        default="severity",
        metavar="COLUMN",
        help=f"sort by severity (default), {', '.join(_SORTS[1:])}",
    )
    verb.add_argument("--reverse", action="store_true", help="reverse the order")
    add_fail_on_flags(verb)
    add_filter_flags(verb)
    add_watch_flag(verb)
    add_source_flags(verb)


def run(options: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from whysync import app
    from whysync.cli.sources import diagnosed, facts
    from whysync.reports import diagnose_short, list_html, list_view
    from whysync.reports.fleet import is_broken
    from whysync.reports.json_yaml import as_json, as_yaml

    report = diagnosed(tuple(matching_labels(app.cases(facts(options)), options)), prove=False)
    report = matching_columns(report, options)
    if options.broken:
        apps = tuple(candidate for candidate in report.apps if is_broken(candidate))
        report = replace(report, apps=apps, groups=app.shared_causes(apps))
    ordered = sorted(report.apps, key=list_view.sort_key(options.sort), reverse=options.reverse)
    report = replace(report, apps=tuple(ordered))
    match options.output:
        case "json":
            text = as_json(list_view.as_object(report))
        case "yaml":
            text = as_yaml(list_view.as_object(report))
        case "markdown":
            text = list_view.as_markdown(report)
        case "name":
            text = list_view.names(report)
        case "short":
            text = diagnose_short.render(report, fleet=True)
        case "html":
            text = list_html.render(report)
        case format:
            text = list_view.render(report, options.terminal, wide=format == "wide")
    out().put(text)
    return exit_code(report, options)
