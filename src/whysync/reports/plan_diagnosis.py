"""Why a planned sync fails, on a page: each finding with its evidence, and its fixes with their proofs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.fixes.text import patch_text
from whysync.reports.markup import lines_of, tag, words
from whysync.reports.proof_view import mark_of, notes_of
from whysync.reports.screen import Screen

_MOST_FINDINGS: Final = 20
_MOST_EVIDENCE: Final = 12


def diagnosis(report: AppReport) -> Iterator[str]:
    if not report.findings and not report.unexplained:
        return
    yield tag("h3", "Why, and what fixes it")
    for finding in report.findings[:_MOST_FINDINGS]:
        yield "\n".join(_finding(finding, report))
    if len(report.findings) > _MOST_FINDINGS:
        yield tag("p", f"and {len(report.findings) - _MOST_FINDINGS} more findings", class_="soft")
    if report.unexplained:
        told = (tag("li", words(one.text)) for one in report.unexplained[:_MOST_FINDINGS])
        yield tag("h4", "Unexplained")
        yield tag("ul", *told)
    if report.gaps:
        missing = (tag("li", words(f"{one.what}: {one.why}")) for one in report.gaps[:_MOST_FINDINGS])
        yield tag("h4", "Could not be seen")
        yield tag("ul", *missing)


def _finding(finding: Finding, report: AppReport) -> Iterator[str]:
    yield f'<article class="card{" follows" if finding.caused_by else ""}">'
    yield tag("h4", words(finding.verdict, 600))
    yield tag(
        "p",
        f"{words(str(finding.about))} · cause ",
        tag("code", words(finding.cause)),
        f" · confidence {finding.confidence.value}",
        class_="soft",
    )
    if finding.root:
        yield tag("p", "Root: ", tag("b", words(finding.root)))
    if finding.evidence:
        seen = [tag("li", _seen(one)) for one in finding.evidence[:_MOST_EVIDENCE]]
        yield tag("details", tag("summary", "Evidence"), tag("ul", *seen))
    for fix in finding.fixes:
        yield from _fix(fix, report)
    yield "</article>"


def _seen(evidence: Evidence) -> str:
    value = json.dumps(evidence.value, ensure_ascii=False) if evidence.value is not None else ""
    where = words(f"{evidence.source} {evidence.ref} {evidence.pointer}")
    shown = f": {tag('code', words(value, 300))}" if value else ""
    return f"{words(evidence.says)}{shown} {tag('span', where, class_='soft')}"


def _fix(fix: Fix, report: AppReport) -> Iterator[str]:
    look = "good" if fix.proof.status is ProofStatus.PROVEN else "wait"
    mark = mark_of(fix, Screen())
    yield '<div class="fix">'
    yield tag(
        "h4", f"Fix: {words(fix.title)} ", tag("span", words(mark), class_=f"badge {look}") if mark else " "
    )
    for note in notes_of(fix, everything=False):
        yield tag("p", words(note), class_="soft")
    if fix.risk:
        yield tag("p", f"Risk: {words(fix.risk)}")
    if fix.destroys:
        yield tag("p", f"Destroys: {words(', '.join(fix.destroys))}", class_="bad")
    patch = lines_of(patch_text(fix, report.case))
    if patch:
        yield tag("pre", "\n".join(_painted(line) for line in patch.split("\n")))
    yield "</div>"


def _painted(line: str) -> str:
    """Lines of a diff; they are escaped already."""
    if line.startswith(("+++", "---")):
        return line
    look = {"+": "plus", "-": "minus"}.get(line[:1])
    return tag("span", line, class_=look) if look else line
