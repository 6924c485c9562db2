"""`list -o html`: the table of apps as one page without scripts or requests; on a phone, a row per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.report import AppReport, Report
from whysync.reports.diagnose_html import class_of_app, mark_of_app, shared_causes
from whysync.reports.fleet import app_names, counts_of, is_broken
from whysync.reports.html_parts import page_start
from whysync.reports.list_view import Row, row_of
from whysync.reports.output import Safe
from whysync.reports.plan_style import FLEET
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, document, joined, tag

MOST_ROWS: Final = 5_000
_COLUMNS: Final = ("project", "sync", "health", "since")


def render(report: Report) -> Safe:
    parts = [
        page_start(f"whysync list: {counts_of(report)}", FLEET),
        Xml("<header>"),
        tag("h1", str(counts_of(report)), class_="bad" if any(map(is_broken, report.apps)) else "good"),
        Xml("</header>\n<main>"),
        *_table(report),
        *shared_causes(report),
        Xml("</main>"),
        tag("footer", tag("p", "Created by whysync list. Secrets are masked.")),
        Xml("</body>\n</html>\n"),
    ]
    return document(joined(parts, "\n"))


def _table(report: Report) -> Iterator[Xml]:
    if not report.apps:
        yield tag("p", "No app matches.")
        return
    names = app_names(app.case for app in report.apps)
    heads = ("App", *(column.capitalize() for column in _COLUMNS), "Cause")
    head = tag("tr", *(tag("th", head, scope="col") for head in heads))
    rows = [_row(app, names[app.case.qualified_name]) for app in report.apps[:MOST_ROWS]]
    yield tag("table", tag("thead", head), tag("tbody", joined(rows, "\n")), class_="apps")
    if len(report.apps) > MOST_ROWS:
        yield tag("p", f"and {len(report.apps) - MOST_ROWS:,} more apps (-o json)", class_="soft")


def _row(report: AppReport, name: str) -> Xml:
    row = row_of(report)
    mark = tag("span", mark_of_app(report), class_=class_of_app(report))
    cells = (_cell(column, getattr(row, column)) for column in _COLUMNS)
    return tag("tr", tag("td", mark, " ", tag("b", one_line(name))), *cells, _cause(row))


def _cell(column: str, value: str) -> Xml:
    if not value:
        return tag("td", "-", class_="empty")
    return tag("td", tag("span", f"{column} ", class_="label"), one_line(value))


def _cause(row: Row) -> Xml:
    if not row.cause:
        return tag("td", "-", class_="cause empty")
    verdict = f": {row.verdict}" if row.verdict else ""
    return tag("td", tag("code", one_line(row.cause)), verdict, class_="cause")
