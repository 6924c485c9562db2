"""`diagnose -o markdown`: a page with state, cause, evidence, what not to do, steps, and how to verify."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.symptom import Side
from whysync.fixes.follow_up import following, is_pushed
from whysync.fixes.patches import patch_text
from whysync.queries.advice import advice_for
from whysync.queries.application_set_state import SetReport
from whysync.queries.check_commands import checks_for
from whysync.queries.commands import app_argument, refresh
from whysync.reports.diagnose_text import SyncVerdict, answer_of, is_doubtful, state_of, sync_verdict
from whysync.reports.fleet import Entry, broken_apps, counts_of, every_app
from whysync.reports.list_view import since
from whysync.reports.markdown_text import BLANK, Md, code, fenced, joined, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.proof_text import proof_sentence
from whysync.reports.terminal import ago, one_line


def render(report: Report, *, fleet: bool = False, sets: Sequence[SetReport] = ()) -> Safe:
    """`fleet`: only what is broken, the worst first, with the number of the other apps."""
    of_sets = (line for one in sets for line in _set(one))
    return page(chain(of_sets, lines_of(report, fleet=fleet)))


def _set(one: SetReport) -> Iterator[Md]:
    """An ApplicationSet: what is wrong with it, and which of its Applications wait for its rollout."""
    first = one.report.first
    yield md(
        "# ApplicationSet {}: {}", one.qualified_name, first.verdict if first else "no error is reported"
    )
    yield BLANK
    for generator in one.generators:
        yield md("- generator: {}", code(generator))
    yield BLANK
    for finding in one.report.findings:
        yield from _why(finding, first=finding is first)
        yield from _evidence(finding, one.report)
        yield from _steps(finding, one.report, alone=len(one.report.findings) == 1)
    if one.members:
        yield row("app", "sync", "health", "step", "rollout", "waits for")
        yield rule(6)
        for member in one.members:
            step = str(member.step) if member.step > 0 else ""
            cells = (member.name, member.sync, member.health, step, member.status, member.waits)
            yield row(*cells)
        yield BLANK


def lines_of(report: Report, *, fleet: bool = False) -> Iterator[Md]:
    entries = broken_apps(report, lambda app: sync_verdict(app)[0]) if fleet else every_app(report)
    if fleet:
        yield md("{}", counts_of(report))
        yield BLANK
    for entry in entries:
        yield from _app(entry)
    yield from _in_common(report)


def _in_common(report: Report) -> Iterator[Md]:
    """Causes that several of the apps share, with the one fix for all of them."""
    shared = [group for group in report.groups if len(group.apps) > 1]
    if shared:
        yield md("# What these apps have in common")
        yield BLANK
    for group in shared:
        yield md("## {} apps, one cause: {}", len(group.apps), group.what)
        yield BLANK
        yield md("Cause {}, in {}.", code(group.cause), joined(", ", map(code, group.apps)))
        yield BLANK
        case = next((a.case for a in report.apps if a.case.qualified_name in group.apps), None)
        if group.fix is None or case is None:
            continue
        tried = ", tried on each of them" if group.checked else ""
        yield md("### One fix for all{}: {}", tried, group.fix.title)
        yield BLANK
        yield from _notes(group.fix)
        yield from fenced(patch_text(group.fix, case).splitlines())
        yield BLANK


def _app(entry: Entry) -> Iterator[Md]:
    report = entry.app
    yield md("# {}: {}", entry.name, answer_of(report))
    yield BLANK
    if entry.same:
        yield md("The same in {}.", joined(", ", map(code, entry.same)))
        yield BLANK
    if report.findings or report.unexplained:
        verdict, reasons = sync_verdict(report)
        stop = "" if verdict is SyncVerdict.SAFE_BUT or not reasons else "."
        yield md("Sync now? **{}{}** {}", verdict, stop, reasons)
        yield BLANK
    yield from _what(report)
    roots = [finding for finding in report.findings if not _is_prevention(finding)]
    for number, finding in enumerate(roots):
        yield from _why(finding, first=number == 0)
        yield from _evidence(finding, report)
    if report.findings or report.unexplained:
        yield from _dont(report)
    fixed = [finding for finding in roots if finding.fixes]
    if fixed:
        yield md("## Steps")
        yield BLANK
        for finding in fixed:
            yield from _steps(finding, report, alone=len(fixed) == 1)
    if report.findings or report.unexplained:
        yield from _verify(report)
    if report.findings:
        yield from _prevent(report)
    yield from _remainder(report)


def _is_prevention(finding: Finding) -> bool:
    """An informational finding caused by another one: it shows how to prevent the problem next time."""
    return finding.severity is Severity.INFO and bool(finding.caused_by)


def _what(report: AppReport) -> Iterator[Md]:
    app, start = report.case.app, since(report)
    yield md("## What")
    yield BLANK
    yield md("**{}**", state_of(report))
    yield BLANK
    yield md("- Application {} in project {}", code(report.case.qualified_name), code(app.project))
    cluster = app.spec.destination.name or app.spec.destination.server
    yield md("- deploys to {}, namespace {}", code(cluster), code(app.spec.destination.namespace))
    for source in app.sources:
        location, revision = source.chart or source.path, source.target_revision or "HEAD"
        yield md("- from {} {} at {}", code(source.repo_url), code(location), code(revision))
    if start is not None and (report.findings or report.unexplained):
        yield md("- began {}, according to its status", ago(report.case.now - start))
    yield BLANK


def _why(finding: Finding, *, first: bool) -> Iterator[Md]:
    yield md("## Why" if first else "## Consequences" if finding.caused_by else "## Also")
    yield BLANK
    yield md("{}.", finding.verdict)
    yield BLANK
    if finding.root:
        yield md("Root cause: **{}**", finding.root)
        yield BLANK


def _evidence(finding: Finding, report: AppReport) -> Iterator[Md]:
    yield md("### Evidence")
    yield BLANK
    yield md(
        "- cause: {} (rule {}), confidence {}",
        code(finding.cause),
        code(finding.rule),
        finding.confidence.value,
    )
    field = md(", field {}", code(finding.field)) if finding.field else ""
    yield md("- about: {}{}", finding.about, field)
    if finding.location is not None:
        yield md("- declared in: {}", code(str(finding.location)))
    if finding.writer is not None:
        yield md("- written by: {} {}", finding.written_by, ago(report.case.age(finding.writer.time)))
    if finding.caused_by:
        yield md("- caused by: {}", joined(", ", map(code, finding.caused_by)))
    yield BLANK
    yield row("evidence", "where", "value")
    yield rule(3)
    for evidence in finding.evidence:
        value = json.dumps(evidence.value, ensure_ascii=False)
        location = md("{} {} {}", evidence.source, evidence.ref, code(evidence.pointer))
        yield row(one_line(evidence.says, 500), location, code(value, 300))
    yield BLANK


def _dont(report: AppReport) -> Iterator[Md]:
    warnings: dict[str, None] = {}
    for finding in report.findings:
        advice = advice_for(finding.cause, finding.side)
        if advice.dont and not _is_prevention(finding):
            warnings.setdefault(advice.dont)
    lines = [Md(f"- {line}") for line in warnings]  # whysync's own Markdown
    for finding in report.findings:
        for fix in finding.fixes:
            if fix.destroys:
                lost = ", ".join(fix.destroys)
                lines.append(md("- “{}” destroys {}", fix.title, lost))
        for rejected in finding.rejected_fixes:
            lines.append(md("- Do not use “{}”: {}", rejected.title, rejected.why))
    if lines:
        yield md("## What not to do")
        yield BLANK
        yield from lines
        yield BLANK


def _steps(finding: Finding, report: AppReport, *, alone: bool) -> Iterator[Md]:
    """The fixes of a finding, the preferred one first; the others are alternatives, not further steps."""
    if not alone:
        lead = md("Workaround until then:") if finding.caused_by else md("For “{}”:", finding.verdict)
        yield lead
        yield BLANK
    checks = checks_for(finding, report.case) if is_doubtful(finding) else ()
    if checks:
        yield md("The cause is only a possible one: check first.")
        yield BLANK
        yield from fenced(checks)
        yield BLANK
    for number, fix in enumerate(finding.fixes, start=1):
        lead = "" if len(finding.fixes) == 1 else md("Option {}: ", number)
        yield md("### {}{}", lead, fix.title)
        yield BLANK
        if fix.proof.status is not ProofStatus.NOT_RUN and not fix.destroys:
            yield md("*{}*", proof_sentence(fix))
            yield BLANK
        yield from _notes(fix)
        yield from fenced(patch_text(fix, report.case).splitlines())
        yield BLANK
        yield from _after(fix, report)


def _notes(fix: Fix) -> Iterator[Md]:
    if fix.risk:
        yield md("Risk: {}", fix.risk)
        yield BLANK
    if fix.destroys:
        yield md("Destroys: {}", ", ".join(fix.destroys))
        yield BLANK


def _after(fix: Fix, report: AppReport) -> Iterator[Md]:
    """The commands to run after the change, such as a refresh."""
    steps = following(fix, report.case)
    lead = md("Commit it and push, then:") if is_pushed(fix, report.case) else md("Then:")
    if steps:
        yield lead
        yield BLANK
        yield from fenced(steps)
        yield BLANK


def _verify(report: AppReport) -> Iterator[Md]:
    app = app_argument(report.case)
    yield md("## How to verify")
    yield BLANK
    yield md("1. {} shows {}", code(refresh(report.case)), _expected_state(report))
    first = report.first
    if first is not None and first.side is Side.DRIFT:
        diff = code(f"argocd app diff {app}")
        yield md("2. {} is still empty after the next reconciliation", diff)
    elif first is not None and first.side is Side.APPLY:
        yield md("2. {} succeeds", code(f"argocd app wait {app} --operation --health"))
    else:
        yield md("2. {} succeeds", code(f"argocd app wait {app} --sync --health --timeout 600"))
    yield md("3. {} with fresh facts finds nothing wrong", code(f"whysync diagnose {app}"))
    yield BLANK


def _expected_state(report: AppReport) -> str:
    if report.side is Side.COMPARE:
        return "no ComparisonError, and a sync status other than Unknown"
    return "Synced and Healthy"


def _prevent(report: AppReport) -> Iterator[Md]:
    yield md("## How to prevent")
    yield BLANK
    measures: dict[str, None] = {}
    for finding in report.findings:
        advice = advice_for(finding.cause, finding.side)
        if advice.prevent:
            measures.setdefault(advice.prevent)
    yield from (Md(f"- {line}") for line in measures)  # whysync's own Markdown
    yield BLANK
    for finding in report.findings:
        if _is_prevention(finding):
            yield md("{}:", finding.verdict)
            yield BLANK
            for fix in finding.fixes[:1]:
                yield md("### {}", fix.title)
                yield BLANK
                yield from _notes(fix)
                yield from fenced(patch_text(fix, report.case).splitlines())
                yield BLANK


def _remainder(report: AppReport) -> Iterator[Md]:
    unexplained = [symptom for symptom in report.unexplained if not symptom.unread]
    if unexplained:
        yield md("## Unexplained")
        yield BLANK
        yield from (md("- {}", symptom.text) for symptom in unexplained)
        yield BLANK
    if report.not_understood:
        yield md("## Reported, not understood")
        yield BLANK
        for symptom in report.not_understood:
            yield md("- {}: {}", code(str(symptom.ref or report.case.application.ref)), symptom.words)
        yield BLANK
    if report.gaps:
        yield md("## Not readable")
        yield BLANK
        for gap in report.gaps:
            help = md("; {}", gap.how_to_get) if gap.how_to_get else ""
            yield md("- {}: {}{}", gap.what, gap.why, help)
        yield BLANK
