"""Findings as JUnit XML: each one a test case that failed, or passed with a remark below `--fail-on`."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from whysync.diagnosis.finding import Severity
from whysync.lint.remark import Outcome, Remark
from whysync.reports.screen import one_line, plain


def render(outcome: Outcome, *, fail_on: Severity = Severity.WARNING) -> str:
    failed = sum(1 for remark in outcome.remarks if remark.severity.weight >= fail_on.weight)
    total = max(len(outcome.remarks) + len(outcome.suppressed), 1)
    counts = f'tests="{total}" failures="{failed}" errors="0" skipped="{len(outcome.suppressed)}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="whysync lint" {counts}>',
        f'  <testsuite name="whysync lint" {counts}>',
        *(line for remark in outcome.remarks for line in _case(remark, fail_on)),
    ]
    for one in outcome.suppressed:
        lines.append(f"    <testcase {_name(one.remark)}>")
        lines.append(f"      <skipped message={_attribute(one.reason)}/>")
        lines.append("    </testcase>")
    if len(lines) == 3:
        lines.append('    <testcase classname="whysync" name="nothing found"/>')
    lines += ["  </testsuite>", "</testsuites>"]
    return "\n".join(lines) + "\n"


def _case(remark: Remark, fail_on: Severity) -> Iterator[str]:
    hint = f"\n{remark.hint}" if remark.hint else ""
    body = escape("\n".join(map(plain, f"{remark.place}: {remark.message}{hint}".split("\n"))))
    yield f"    <testcase {_name(remark)}>"
    if remark.severity.weight >= fail_on.weight:
        told = _attribute(remark.message)
        yield f'      <failure type="{remark.severity.value}" message={told}>{body}</failure>'
    else:
        yield f"      <system-out>{remark.severity.value}: {body}</system-out>"
    yield "    </testcase>"


def _name(remark: Remark) -> str:
    about = f" {remark.ref}" if remark.ref else ""
    name = _attribute(f"{remark.check}{about} (line {remark.line})")
    return (
        f'classname={_attribute(remark.path)} name={name} file={_attribute(remark.path)} line="{remark.line}"'
    )


def _attribute(text: str) -> str:
    return quoteattr(one_line(text, 500))
