"""The report as a page to hand to a colleague."""

from __future__ import annotations

import json
from collections.abc import Iterator

from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import AppReport, Report
from whysync.fixes.text import patch_text
from whysync.reports.screen import ago, one_line, plain
from whysync.reports.terminal import answer_of, state_of
from whysync.semantics.writers import phrase


def render(report: Report) -> str:
    return "\n".join(line for app in report.apps for line in _app(app)).rstrip() + "\n"


def _app(report: AppReport) -> Iterator[str]:
    yield f"# {escaped(report.case.app.name)}: {escaped(answer_of(report))}"
    yield ""
    yield f"**{escaped(state_of(report))}**"
    yield ""
    for finding in report.findings:
        yield from _finding(finding, report)
    if report.findings or report.unexplained:
        yield "## Is it safe to sync now?"
        yield ""
        yield f"**{report.safety.sync.value}**" + "".join(
            f"; {escaped(r.text)}" for r in report.safety.reasons
        )
        yield ""
    if report.unexplained:
        yield "## Unexplained"
        yield ""
        yield from (f"- {escaped(symptom.text)}" for symptom in report.unexplained)
        yield ""
    if report.gaps:
        yield "## What could not be seen"
        yield ""
        for gap in report.gaps:
            help = f"; {escaped(gap.how_to_get)}" if gap.how_to_get else ""
            yield f"- {escaped(gap.what)}: {escaped(gap.why)}{help}"
        yield ""


def _finding(finding: Finding, report: AppReport) -> Iterator[str]:
    yield f"## {escaped(finding.verdict)}"
    yield ""
    yield f"- cause: `{finding.cause}` (rule `{finding.rule}`), confidence {finding.confidence.value}"
    yield f"- about: {escaped(str(finding.about))}" + (
        f", field `{_code(finding.field)}`" if finding.field else ""
    )
    if finding.root:
        yield f"- root: {escaped(finding.root)}"
    if finding.writer is not None:
        yield f"- written by: {escaped(phrase(finding.writer))} {ago(report.case.age(finding.writer.time))}"
    if finding.caused_by:
        yield f"- follows from: {', '.join(f'`{_code(id)}`' for id in finding.caused_by)}"
    yield ""
    yield "| evidence | where | value |"
    yield "|---|---|---|"
    for evidence in finding.evidence:
        value = json.dumps(evidence.value, ensure_ascii=False)
        where = f"{evidence.source} {evidence.ref} `{_code(evidence.pointer)}`"
        yield f"| {_cell(evidence.says)} | {_cell(where)} | `{_code(one_line(value, 300))}` |"
    yield ""
    for number, fix in enumerate(finding.fixes, start=1):
        yield f"### Fix {number}: {escaped(fix.title)}"
        yield ""
        if fix.risk:
            yield f"Risk: {escaped(fix.risk)}"
            yield ""
        if fix.destroys:
            yield f"Destroys: {escaped(', '.join(fix.destroys))}"
            yield ""
        yield from _fenced(patch_text(fix, report.case))
        yield ""


def _fenced(text: str) -> Iterator[str]:
    """A fence longer than any that the text holds: what a cluster says cannot break out of it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield fence
    yield from (plain(line) for line in text.splitlines())
    yield fence


_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#"})


def escaped(text: str) -> str:
    """Words of a cluster are words, not markup."""
    return one_line(text, 2_000).translate(_SPECIAL)


def _cell(text: str) -> str:
    return one_line(text, 500).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return plain(text).replace("`", "'").replace("|", "\\|")
