"""Why a planned sync fails, on a page: each finding with its evidence, and its fixes with their proofs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.fixes.patches import patch_text
from whysync.reports.proof_view import mark_of, notes_of
from whysync.reports.screen import Screen, one_line
from whysync.reports.xml_text import BREAK, Xml, joined, lines_of, tag

_MOST_FINDINGS: Final = 20
_MOST_EVIDENCE: Final = 12


def diagnosis(report: AppReport) -> Iterator[Xml]:
    if not report.findings and not report.unexplained:
        return
    yield tag("h3", "Why, and what fixes it")
    for finding in report.findings[:_MOST_FINDINGS]:
        yield _finding(finding, report)
    if len(report.findings) > _MOST_FINDINGS:
        yield tag("p", f"and {len(report.findings) - _MOST_FINDINGS} more findings", class_="soft")
    if report.unexplained:
        told = (tag("li", one_line(one.text)) for one in report.unexplained[:_MOST_FINDINGS])
        yield tag("h4", "Unexplained")
        yield tag("ul", *told)
    if report.gaps:
        missing = (tag("li", one_line(f"{gap.what}: {gap.why}")) for gap in report.gaps[:_MOST_FINDINGS])
        yield tag("h4", "Could not be seen")
        yield tag("ul", *missing)


def _finding(finding: Finding, report: AppReport) -> Xml:
    look = "card follows" if finding.caused_by else "card"
    return tag("article", BREAK, joined(_parts(finding, report), "\n"), BREAK, class_=look)


def _parts(finding: Finding, report: AppReport) -> Iterator[Xml]:
    yield tag("h4", one_line(finding.verdict, 600))
    yield tag(
        "p",
        f"{one_line(str(finding.about))} · cause ",
        tag("code", one_line(finding.cause)),
        f" · confidence {finding.confidence.value}",
        class_="soft",
    )
    if finding.root:
        yield tag("p", "Root: ", tag("b", one_line(finding.root)))
    if finding.evidence:
        seen = [tag("li", _seen(citation)) for citation in finding.evidence[:_MOST_EVIDENCE]]
        yield tag("details", tag("summary", "Evidence"), tag("ul", *seen))
    for fix in finding.fixes:
        yield tag("div", BREAK, joined(_fix(fix, report), "\n"), BREAK, class_="fix")


def _seen(evidence: Evidence) -> Xml:
    value = json.dumps(evidence.value, ensure_ascii=False) if evidence.value is not None else ""
    where = one_line(f"{evidence.source} {evidence.ref} {evidence.pointer}")
    shown = (": ", tag("code", one_line(value, 300))) if value else ()
    return joined((one_line(evidence.says), *shown, " ", tag("span", where, class_="soft")))


def _fix(fix: Fix, report: AppReport) -> Iterator[Xml]:
    look = "good" if fix.proof.status is ProofStatus.PROVEN else "wait"
    mark = mark_of(fix, Screen())
    yield tag(
        "h4",
        f"Fix: {one_line(fix.title)} ",
        tag("span", one_line(mark), class_=f"badge {look}") if mark else " ",
    )
    for note in notes_of(fix, everything=False):
        yield tag("p", one_line(note), class_="soft")
    if fix.risk:
        yield tag("p", f"Risk: {one_line(fix.risk)}")
    if fix.destroys:
        yield tag("p", f"Destroys: {one_line(', '.join(fix.destroys))}", class_="bad")
    patch = lines_of(patch_text(fix, report.case))
    if patch:
        yield tag("pre", joined(map(_painted, patch), "\n"))


def _painted(line: Xml) -> Xml:
    """A line of a diff."""
    if line.startswith(("+++", "---")):
        return line
    look = {"+": "plus", "-": "minus"}.get(line[:1])
    return tag("span", line, class_=look) if look else line
