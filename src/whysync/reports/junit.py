"""Findings as JUnit XML: each one a test case that failed, or passed with a remark below `--fail-on`."""

from __future__ import annotations

from whysync.diagnosis.finding import Severity
from whysync.lint.remark import Outcome, Remark
from whysync.reports.output import Safe
from whysync.reports.screen import one_line
from whysync.reports.xml_text import Xml, joined, lines_of, suites, tag


def render(outcome: Outcome, *, fail_on: Severity = Severity.WARNING) -> Safe:
    cases = [_case(remark, _said(remark, fail_on)) for remark in outcome.remarks]
    for one in outcome.suppressed:
        cases.append(_case(one.remark, tag("skipped", message=one_line(one.reason, 500))))
    return suites(
        "whysync lint",
        cases or [tag("testcase", classname="whysync", name="nothing found")],
        tests=max(len(cases), 1),
        failures=sum(1 for remark in outcome.remarks if remark.severity.weight >= fail_on.weight),
        errors=0,
        skipped=len(outcome.suppressed),
    )


def _case(remark: Remark, inside: Xml) -> Xml:
    about = f" {remark.ref}" if remark.ref else ""
    return tag(
        "testcase",
        Xml("\n      "),
        inside,
        Xml("\n    "),
        classname=one_line(remark.path, 500),
        name=one_line(f"{remark.check}{about} (line {remark.line})", 500),
        file=one_line(remark.path, 500),
        line=remark.line,
    )


def _said(remark: Remark, fail_on: Severity) -> Xml:
    hint = f"\n{remark.hint}" if remark.hint else ""
    body = joined(lines_of(f"{remark.place}: {remark.message}{hint}"), "\n")
    severity = remark.severity.value
    if remark.severity.weight >= fail_on.weight:
        return tag("failure", body, type=severity, message=one_line(remark.message, 500))
    return tag("system-out", f"{severity}: ", body)
