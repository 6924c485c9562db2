"""The report as a page to hand to a colleague: what, why, evidence, what not to do, steps, how to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator

from whysync.diagnosis.advice import advice_for
from whysync.diagnosis.commands import app_argument, refresh
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.symptom import Side
from whysync.fixes.following import following, is_in_git
from whysync.fixes.text import patch_text
from whysync.reports.fleet import since
from whysync.reports.proof_view import in_a_sentence
from whysync.reports.screen import ago, one_line, plain
from whysync.reports.terminal import answer_of, safety_of, state_of
from whysync.semantics.writers import phrase


def render(report: Report) -> str:
    pages = [line for app in report.apps for line in _app(app)]
    return "\n".join([*pages, *_in_common(report)]).rstrip() + "\n"


def _in_common(report: Report) -> Iterator[str]:
    """Causes that several of the apps share, with the one fix for all of them."""
    shared = [group for group in report.groups if len(group.apps) > 1]
    if shared:
        yield "# What these apps have in common"
        yield ""
    for group in shared:
        yield f"## {len(group.apps)} apps, one cause: {escaped(group.what)}"
        yield ""
        yield f"Cause `{group.cause}`, in {', '.join(f'`{_code(name)}`' for name in group.apps)}."
        yield ""
        case = next((a.case for a in report.apps if a.case.app.qualified_name in group.apps), None)
        if group.fix is None or case is None:
            continue
        tried = ", tried on each of them" if group.checked else ""
        yield f"### One fix for all{tried}: {escaped(group.fix.title)}"
        yield ""
        yield from _notes(group.fix)
        yield from _fenced(patch_text(group.fix, case))
        yield ""


def _app(report: AppReport) -> Iterator[str]:
    yield f"# {escaped(report.case.app.name)}: {escaped(answer_of(report))}"
    yield ""
    yield from _what(report)
    roots = [finding for finding in report.findings if not _is_news(finding)]
    for number, finding in enumerate(roots):
        yield from _why(finding, first=number == 0)
        yield from _evidence(finding, report)
    if report.findings or report.unexplained:
        yield from _dont(report)
    fixed = [finding for finding in roots if finding.fixes]
    if fixed:
        yield "## Steps"
        yield ""
        for finding in fixed:
            yield from _steps(finding, report, alone=len(fixed) == 1)
    if report.findings or report.unexplained:
        yield from _verify(report)
    if report.findings:
        yield from _prevent(report)
    yield from _remainder(report)


def _is_news(finding: Finding) -> bool:
    """What only follows from another finding, and is no trouble of its own: how to prevent the next time."""
    return finding.severity is Severity.INFO and bool(finding.caused_by)


def _what(report: AppReport) -> Iterator[str]:
    app, begun = report.case.app, since(report)
    yield "## What"
    yield ""
    yield f"**{escaped(state_of(report))}**"
    yield ""
    yield f"- Application `{_code(app.qualified_name)}` in project `{_code(app.project)}`"
    where = app.spec.destination.name or app.spec.destination.server
    yield f"- deploys to `{_code(where)}`, namespace `{_code(app.spec.destination.namespace)}`"
    for source in app.sources:
        place, revision = source.chart or source.path, source.target_revision or "HEAD"
        yield f"- from `{_code(source.repo_url)}` `{_code(place)}` at `{_code(revision)}`"
    if begun is not None and (report.findings or report.unexplained):
        yield f"- began {ago(report.case.now - begun)}, as far as Argo CD tells"
    yield ""


def _why(finding: Finding, *, first: bool) -> Iterator[str]:
    yield "## Why" if first else "## What follows from it" if finding.caused_by else "## And also"
    yield ""
    yield f"{escaped(finding.verdict)}."
    yield ""
    if finding.root:
        yield f"The root: **{escaped(finding.root)}**"
        yield ""


def _evidence(finding: Finding, report: AppReport) -> Iterator[str]:
    yield "### Evidence"
    yield ""
    yield f"- cause: `{finding.cause}` (rule `{finding.rule}`), confidence {finding.confidence.value}"
    yield f"- about: {escaped(str(finding.about))}" + (
        f", field `{_code(finding.field)}`" if finding.field else ""
    )
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


def _dont(report: AppReport) -> Iterator[str]:
    yield "## What not to do"
    yield ""
    verdict, rest = escaped(safety_of(report)).partition(" ")[::2]
    yield f"- Sync now? **{verdict}** {rest}".rstrip()
    told: dict[str, None] = {}
    for finding in report.findings:
        advice = advice_for(finding.cause, finding.side)
        if advice.dont and not _is_news(finding):
            told.setdefault(advice.dont)
    yield from (f"- {line}" for line in told)
    for finding in report.findings:
        for fix in finding.fixes:
            if fix.destroys:
                lost = escaped(", ".join(fix.destroys))
                yield f"- Not without thought: “{escaped(fix.title)}”. It destroys {lost}"
        for rejected in finding.rejected_fixes:
            yield f"- Not “{escaped(rejected.title)}”: {escaped(rejected.why)}"
    yield ""


def _steps(finding: Finding, report: AppReport, *, alone: bool) -> Iterator[str]:
    """The first fix is the one to take; the others are other ways, not further steps."""
    if not alone:
        lead = "To get by, until that is done" if finding.caused_by else f"For “{escaped(finding.verdict)}”"
        yield f"{lead}:"
        yield ""
    for number, fix in enumerate(finding.fixes, start=1):
        lead = "" if len(finding.fixes) == 1 else f"Way {number}: "
        yield f"### {lead}{escaped(fix.title)}"
        yield ""
        if fix.proof.status is not ProofStatus.NOT_RUN:
            yield f"*{escaped(in_a_sentence(fix))}*"
            yield ""
        yield from _notes(fix)
        yield from _fenced(patch_text(fix, report.case))
        yield ""
        yield from _after(fix, report)


def _notes(fix: Fix) -> Iterator[str]:
    if fix.risk:
        yield f"Risk: {escaped(fix.risk)}"
        yield ""
    if fix.destroys:
        yield f"Destroys: {escaped(', '.join(fix.destroys))}"
        yield ""


def _after(fix: Fix, report: AppReport) -> Iterator[str]:
    """A patch is half of it: it has to come into Git, and Argo CD has to look again."""
    steps = following(fix, report.case)
    lead = "Commit it and push, then:" if is_in_git(fix) else "Then:"
    if steps:
        yield lead
        yield ""
        yield from _fenced("\n".join(steps))
        yield ""


def _verify(report: AppReport) -> Iterator[str]:
    app = _code(app_argument(report.case))
    yield "## How to verify"
    yield ""
    yield f"1. `{_code(refresh(report.case))}` shows {_wanted(report)}"
    first = report.first
    if first is not None and first.side is Side.DRIFT:
        yield f"2. It still does some minutes later, after the next reconciliation: `argocd app diff {app}`"
    elif first is not None and first.side is Side.APPLY:
        yield f"2. `argocd app wait {app} --operation --health` ends well"
    else:
        yield f"2. `argocd app wait {app} --sync --health --timeout 600` ends well"
    yield "3. whysync, on fresh facts, says that nothing is wrong"
    yield ""


def _wanted(report: AppReport) -> str:
    if report.side is Side.COMPARE:
        return "no ComparisonError any more, and a sync status that is not Unknown"
    return "Synced and Healthy"


def _prevent(report: AppReport) -> Iterator[str]:
    yield "## How to prevent"
    yield ""
    told: dict[str, None] = {}
    for finding in report.findings:
        advice = advice_for(finding.cause, finding.side)
        if advice.prevent:
            told.setdefault(advice.prevent)
    yield from (f"- {line}" for line in told)
    yield ""
    for finding in report.findings:
        if _is_news(finding):
            yield f"{escaped(finding.verdict)}:"
            yield ""
            for fix in finding.fixes[:1]:
                yield f"### {escaped(fix.title)}"
                yield ""
                yield from _notes(fix)
                yield from _fenced(patch_text(fix, report.case))
                yield ""


def _remainder(report: AppReport) -> Iterator[str]:
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
