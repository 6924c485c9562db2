"""The audit as text, Markdown, JSON or YAML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whysync.audit.result import Audit, AuditFinding
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.rule import Topic
from whysync.fixes.patches import patch_text
from whysync.json_tree import Json, Object
from whysync.reports import output
from whysync.reports.diagnose_json import fix_v1
from whysync.reports.json_yaml import as_json, as_yaml, tree
from whysync.reports.markdown_text import BLANK, Md, fenced, md, page
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line

_COLORS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(audit: Audit, terminal: Terminal, *, format: str) -> Safe:
    match format:
        case "json":
            return as_json(as_object(audit))
        case "yaml":
            return as_yaml(as_object(audit))
        case "markdown":
            return page(_markdown(audit))
        case _:
            return output.text(_text(audit, terminal))


def as_object(audit: Audit) -> Object:
    remarks: list[Json] = [_object(finding) for finding in audit.findings]
    gaps: list[Json] = [
        {"what": g.what, "why": g.why, "howToGet": g.how_to_get} for g in (*audit.gaps, *audit.notes)
    ]
    return {"version": 1, "apps": [*audit.apps], "remarks": remarks, "gaps": gaps}


def _object(audit_finding: AuditFinding) -> Object:
    finding = audit_finding.finding
    about, writer = finding.about, finding.writer
    fix = tree(fix_v1(finding.fixes[0], audit_finding.case)) if finding.fixes else None
    return {
        "topic": audit_finding.topic.name.lower(),
        "rule": finding.rule,
        "cause": finding.cause,
        "severity": finding.severity.value,
        "app": audit_finding.app,
        "about": {
            "group": about.group,
            "version": about.version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "cluster": about.cluster,
        },
        "text": finding.verdict,
        "pointers": [evidence.pointer for evidence in finding.evidence] if writer else [],
        "writer": {"manager": writer.manager, "kind": writer.kind.value} if writer else None,
        "fix": fix,
    }


def summary(audit: Audit) -> str:
    counts = Counter(finding.finding.severity for finding in audit.findings)
    parts = [f"{counts[severity]} {severity.value}" for severity in reversed(Severity) if counts[severity]]
    apps = f"{len(audit.apps)} app{'' if len(audit.apps) == 1 else 's'}"
    return f"{', '.join(parts) if parts else 'no findings'}: {apps}"


def _text(audit: Audit, terminal: Terminal) -> Iterator[str]:
    has_problems = any(finding.finding.severity is not Severity.INFO for finding in audit.findings)
    mark = terminal.paint(
        terminal.mark("bad" if has_problems else "good"), "red" if has_problems else "green"
    )
    yield f"{mark} {summary(audit)}"
    several = len(audit.apps) > 1
    for topic in Topic:
        section = audit.of(topic)
        if section:
            yield ""
            yield terminal.paint(topic.value, "bold")
        for finding in section:
            yield from _finding(finding, terminal, several=several)
    yield from _gaps(audit, terminal)


def _finding(audit_finding: AuditFinding, terminal: Terminal, *, several: bool) -> Iterator[str]:
    finding = audit_finding.finding
    label = terminal.paint(f"{finding.severity.value:<8}", _COLORS[finding.severity])
    app = f"{audit_finding.app}: " if several else ""
    lines = terminal.wrap(f"{app}{finding.about}: {one_line(finding.verdict, 600)}", indent=12)
    yield f"  {label}  {lines[0].lstrip()}"
    yield from lines[1:]
    for fix in finding.fixes[:1]:
        yield from terminal.wrap(f"{terminal.mark('arrow')} {one_line(fix.title, 600)}", indent=12)
        for line in patch_text(fix, audit_finding.case).splitlines():
            yield f"              {line}".rstrip()
        if fix.risk:
            yield from terminal.wrap(f"risk: {one_line(fix.risk)}", indent=14)


def _gaps(audit: Audit, terminal: Terminal) -> Iterator[str]:
    if audit.gaps or audit.notes:
        yield ""
        yield terminal.paint("not checked", "bold")
    for gap in (*audit.gaps, *audit.notes):
        yield from terminal.wrap(f"{one_line(gap.what)}: {one_line(gap.why)}", indent=2)


def _markdown(audit: Audit) -> Iterator[Md]:
    yield md("# Audit: {}", summary(audit))
    for topic in Topic:
        section = audit.of(topic)
        if section:
            yield BLANK
            yield md("## {}{}", topic.value[0].upper(), topic.value[1:])
            yield BLANK
        for audit_finding in section:
            finding = audit_finding.finding
            verdict = one_line(finding.verdict, 600)
            yield md("- **{}** {}: {}: {}", finding.severity.value, audit_finding.app, finding.about, verdict)
            yield from _markdown_fix(audit_finding)
    if audit.gaps or audit.notes:
        yield BLANK
        yield md("## Not checked")
        yield BLANK
    for gap in (*audit.gaps, *audit.notes):
        yield md("- {}: {}", one_line(gap.what), one_line(gap.why))


def _markdown_fix(finding: AuditFinding) -> Iterator[Md]:
    for fix in finding.finding.fixes[:1]:
        yield BLANK
        yield md("  {}", one_line(fix.title, 600))
        yield BLANK
        yield from fenced(patch_text(fix, finding.case).splitlines(), indent="  ")
        yield BLANK
