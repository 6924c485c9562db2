"""JUnit XML: each row is a test case that failed, passed or was skipped."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.diagnosis.finding import Severity
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.output import Safe
from whysync.reports.xml_text import BREAK, XML, Xml, document, joined, lines_of, tag


def render(
    name: str,
    rows: Sequence[Annotation],
    *,
    fail_on: Severity = Severity.WARNING,
    empty: str = "nothing found",
) -> Safe:
    """Rows below `fail_on` pass, with their text as output."""
    cases = [_case(row, fail_on) for row in rows] or [tag("testcase", classname="whysync", name=empty)]
    counts = {
        "tests": len(cases),
        "failures": sum(1 for row in rows if _fails(row, fail_on)),
        "errors": 0,
        "skipped": sum(1 for row in rows if row.skipped is not None),
    }
    nodes = [node for case in cases for node in (Xml("\n    "), case)]
    suite = tag("testsuite", *nodes, Xml("\n  "), name=name, **counts)
    root = tag("testsuites", Xml("\n  "), suite, BREAK, name=name, **counts)
    return document(joined((XML, root), "\n"))


def _fails(row: Annotation, fail_on: Severity) -> bool:
    return row.skipped is None and row.severity is not None and row.severity.weight >= fail_on.weight


def _case(row: Annotation, fail_on: Severity) -> Xml:
    attributes: dict[str, str | int] = {"file": row.file} if row.file else {}
    if row.line is not None:
        attributes = {"file": row.file, "line": row.line}
    time = {"time": f"{row.seconds:.0f}"} if row.seconds is not None else {}
    nodes = _result(row, fail_on)
    if nodes and row.line is not None:
        nodes = [Xml("\n      "), *nodes, Xml("\n    ")]
    return tag("testcase", *nodes, classname=row.suite, name=row.title, **time, **attributes)


def _result(row: Annotation, fail_on: Severity) -> list[Xml]:
    if row.skipped is not None:
        return [tag("skipped", message=row.skipped)]
    if row.severity is None:
        return []
    details = joined(lines_of(row.details), "\n")
    if _fails(row, fail_on):
        return [tag("failure", details, type=row.failure_type, message=row.message)]
    return [tag("system-out", f"{row.severity.value}: ", details)]
