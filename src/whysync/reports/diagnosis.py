"""The result of a diagnosis in each form that `-o` takes."""

from __future__ import annotations

from whysync.diagnosis.report import Report
from whysync.reports import json_v1, list_view, markdown, terminal
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.output import Safe
from whysync.reports.screen import Screen


def render(
    report: Report, screen: Screen, *, form: str, proofs: bool = False, place: str | None = None
) -> Safe:
    """`place`: the flags that lead another command to the same facts, or `None` if there are none."""
    match form:
        case "json":
            return as_json(json_v1.report_v1(report))
        case "yaml":
            return as_yaml(json_v1.report_v1(report))
        case "markdown":
            return markdown.render(report)
        case "name":
            return list_view.names(report)
        case _:
            return terminal.render(report, screen, wide=form == "wide", proofs=proofs, place=place)
