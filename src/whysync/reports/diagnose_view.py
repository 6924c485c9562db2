"""`diagnose` in every output format; only the module of the chosen one is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from whysync.diagnosis.report import Report
from whysync.queries.application_set_state import SetReport
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal


def render(
    report: Report,
    terminal: Terminal,
    *,
    format: str,
    proofs: bool = False,
    source_flags: str | None = None,
    fleet: bool = False,
    sets: Sequence[SetReport] = (),
) -> Safe:
    """`source_flags`: flags with which another command reads the same facts; `None` if it cannot.

    `fleet`: only what is broken is shown, and the other apps are counted; data and names have all apps.
    `sets`: the ApplicationSets that are asked about; their Applications are in the report.
    """
    match format:
        case "json":
            from whysync.reports import diagnose_json
            from whysync.reports.json_yaml import as_json

            return as_json(diagnose_json.report_v1(report, sets))
        case "yaml":
            from whysync.reports import diagnose_json
            from whysync.reports.json_yaml import as_yaml

            return as_yaml(diagnose_json.report_v1(report, sets))
        case "markdown":
            from whysync.reports import diagnose_markdown

            return diagnose_markdown.render(report, fleet=fleet, sets=sets)
        case "short":
            from whysync.reports import diagnose_short

            return diagnose_short.render(_with_sets(report, sets), fleet=fleet)
        case "html":
            from whysync.reports import diagnose_html

            return diagnose_html.render(_with_sets(report, sets), fleet=fleet)
        case "name":
            from whysync.reports import list_view

            return list_view.names(report)
        case _:
            from whysync.reports import diagnose_text

            return diagnose_text.render(
                report,
                terminal,
                wide=format == "wide",
                proofs=proofs,
                source_flags=source_flags,
                fleet=fleet,
                sets=sets,
            )


def _with_sets(report: Report, sets: Sequence[SetReport]) -> Report:
    """The sets as further entries, for formats without a section of their own for them."""
    return replace(report, apps=(*(one.report for one in sets), *report.apps)) if sets else report
