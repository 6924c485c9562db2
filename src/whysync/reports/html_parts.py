"""Parts of HTML pages: the start of a page, and a finding with its evidence and fixes.

A page is one file without scripts and without requests; its Content-Security-Policy forbids both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, LiteralString

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.reports.proof_text import ProofMark, mark_of, notes_of, proof_mark
from whysync.reports.terminal import Terminal, one_line
from whysync.reports.xml_text import BREAK, Xml, joined, lines_of, tag

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_EVIDENCE: Final = 12
_MARK_CLASSES: Final = {ProofMark.PROVEN: "good", ProofMark.DESTRUCTIVE: "bad"}


def page_start(title: str, style: LiteralString) -> Xml:
    """The head of a page, up to the start of its body."""
    return joined(
        (
            Xml('<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>'),
            Xml('<meta charset="utf-8"/>'),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            Xml('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
            Xml('<meta name="referrer" content="no-referrer"/>'),
            tag("title", one_line(title, 200)),
            Xml(f"<style>\n{style}</style>\n</head>\n<body>"),
        ),
        "\n",
    )


def finding_card(finding: Finding, fixes: Iterable[tuple[Fix, str]], *, verdict: bool = True) -> Xml:
    """A cause with its evidence and its fixes, each with its patch.

    `verdict`: with the sentence, if it is not above the card.
    """
    css_class = "card follows" if finding.caused_by else "card"
    return tag("article", BREAK, joined(_parts(finding, fixes, verdict), "\n"), BREAK, class_=css_class)


def _parts(finding: Finding, fixes: Iterable[tuple[Fix, str]], verdict: bool) -> Iterator[Xml]:
    about = one_line(f"{finding.about} {finding.field or ''}")
    place = (" · ", tag("code", one_line(finding.place))) if finding.place else ()
    yield tag("h4", one_line(finding.verdict, 600) if verdict else about)
    yield tag(
        "p",
        f"{about} · cause " if verdict else "cause ",
        tag("code", one_line(finding.cause)),
        f" · confidence {finding.confidence.value}",
        *place,
        class_="soft",
    )
    if finding.root:
        yield tag("p", "Root: ", tag("b", one_line(finding.root)))
    if finding.evidence:
        entries = [tag("li", _evidence_entry(evidence)) for evidence in finding.evidence[:_MOST_EVIDENCE]]
        yield tag("details", tag("summary", "Evidence"), tag("ul", *entries))
    for fix, patch in fixes:
        yield tag("div", BREAK, joined(_fix(fix, patch), "\n"), BREAK, class_="fix")


def _evidence_entry(evidence: Evidence) -> Xml:
    value = json.dumps(evidence.value, ensure_ascii=False) if evidence.value is not None else ""
    location = one_line(f"{evidence.source} {evidence.ref} {evidence.pointer}")
    shown_value = (": ", tag("code", one_line(value, 300))) if value else ()
    return joined((one_line(evidence.says), *shown_value, " ", tag("span", location, class_="soft")))


def _fix(fix: Fix, patch: str) -> Iterator[Xml]:
    css_class = _MARK_CLASSES.get(proof_mark(fix), "wait")
    mark = mark_of(fix, Terminal())
    yield tag(
        "h4",
        f"Fix: {one_line(fix.title)} ",
        tag("span", one_line(mark), class_=f"badge {css_class}") if mark else " ",
    )
    for note in notes_of(fix, everything=False):
        yield tag("p", one_line(note), class_="soft")
    if fix.risk:
        yield tag("p", f"Risk: {one_line(fix.risk)}")
    if fix.destroys:
        yield tag("p", f"Destroys: {one_line(', '.join(fix.destroys))}", class_="bad")
    if lines := lines_of(patch):
        yield tag("pre", joined(map(_painted, lines), "\n"))


def _painted(line: Xml) -> Xml:
    """A line of a diff."""
    if line.startswith(("+++", "---")):
        return line
    css_class = {"+": "plus", "-": "minus"}.get(line[:1])
    return tag("span", line, class_=css_class) if css_class else line
