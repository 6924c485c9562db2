"""The audit as text, Markdown, JSON or YAML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whysync.audit.remark import Audit, Remark, Topic
from whysync.diagnosis.finding import Severity
from whysync.fixes.patches import patch_text
from whysync.json_tree import Json, Object
from whysync.reports import output
from whysync.reports.json_v1 import fix_v1
from whysync.reports.json_yaml import as_json, as_yaml, tree
from whysync.reports.markdown_text import BLANK, Md, fenced, md, page
from whysync.reports.output import Safe
from whysync.reports.screen import Screen, one_line

_COLORS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(audit: Audit, screen: Screen, *, form: str) -> Safe:
    match form:
        case "json":
            return as_json(as_object(audit))
        case "yaml":
            return as_yaml(as_object(audit))
        case "markdown":
            return page(_markdown(audit))
        case _:
            return output.text(_text(audit, screen))


def as_object(audit: Audit) -> Object:
    remarks: list[Json] = [_object(remark) for remark in audit.remarks]
    gaps: list[Json] = [
        {"what": g.what, "why": g.why, "howToGet": g.how_to_get} for g in (*audit.gaps, *audit.notes)
    ]
    return {"version": 1, "apps": [*audit.apps], "remarks": remarks, "gaps": gaps}


def _object(remark: Remark) -> Object:
    about, writer = remark.about, remark.writer
    fix = tree(fix_v1(remark.fix, remark.case)) if remark.fix is not None else None
    return {
        "topic": remark.topic.name.lower(),
        "severity": remark.severity.value,
        "app": remark.app,
        "about": {
            "group": about.group,
            "version": about.version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "cluster": about.cluster,
        },
        "text": remark.text,
        "pointers": [*remark.pointers],
        "writer": {"manager": writer.manager, "kind": writer.kind.value} if writer else None,
        "fix": fix,
    }


def summary(audit: Audit) -> str:
    counts = Counter(remark.severity for remark in audit.remarks)
    told = [f"{counts[one]} {one.value}" for one in reversed(Severity) if counts[one]]
    apps = f"{len(audit.apps)} app{'' if len(audit.apps) == 1 else 's'}"
    return f"{', '.join(told) if told else 'nothing to remark'}: {apps}"


def _text(audit: Audit, screen: Screen) -> Iterator[str]:
    bad = any(remark.severity is not Severity.INFO for remark in audit.remarks)
    mark = screen.paint(screen.mark("bad" if bad else "good"), "red" if bad else "green")
    yield f"{mark} {summary(audit)}"
    several = len(audit.apps) > 1
    for topic in Topic:
        remarks = audit.of(topic)
        if remarks:
            yield ""
            yield screen.paint(topic.value, "bold")
        for remark in remarks:
            yield from _remark(remark, screen, several=several)
    yield from _gaps(audit, screen)


def _remark(remark: Remark, screen: Screen, *, several: bool) -> Iterator[str]:
    label = screen.paint(f"{remark.severity.value:<8}", _COLORS[remark.severity])
    app = f"{remark.app}: " if several else ""
    lines = screen.wrap(f"{app}{remark.about}: {one_line(remark.text, 600)}", indent=12)
    yield f"  {label}  {lines[0].lstrip()}"
    yield from lines[1:]
    if remark.fix is None:
        return
    arrow = screen.mark("arrow")
    yield from screen.wrap(f"{arrow} {one_line(remark.fix.title, 600)}", indent=12)
    for line in patch_text(remark.fix, remark.case).splitlines():
        yield f"              {line}".rstrip()
    if remark.fix.risk:
        yield from screen.wrap(f"risk: {one_line(remark.fix.risk)}", indent=14)


def _gaps(audit: Audit, screen: Screen) -> Iterator[str]:
    if audit.gaps or audit.notes:
        yield ""
        yield screen.paint("not checked", "bold")
    for gap in (*audit.gaps, *audit.notes):
        yield from screen.wrap(f"{one_line(gap.what)}: {one_line(gap.why)}", indent=2)


def _markdown(audit: Audit) -> Iterator[Md]:
    yield md("# Audit: {}", summary(audit))
    for topic in Topic:
        remarks = audit.of(topic)
        if remarks:
            yield BLANK
            yield md("## {}{}", topic.value[0].upper(), topic.value[1:])
            yield BLANK
        for remark in remarks:
            said = one_line(remark.text, 600)
            yield md("- **{}** {}: {}: {}", remark.severity.value, remark.app, remark.about, said)
            yield from _markdown_fix(remark)
    if audit.gaps or audit.notes:
        yield BLANK
        yield md("## Not checked")
        yield BLANK
    for gap in (*audit.gaps, *audit.notes):
        yield md("- {}: {}", one_line(gap.what), one_line(gap.why))


def _markdown_fix(remark: Remark) -> Iterator[Md]:
    if remark.fix is None:
        return
    yield BLANK
    yield md("  {}", one_line(remark.fix.title, 600))
    yield BLANK
    yield from fenced(patch_text(remark.fix, remark.case).splitlines(), indent="  ")
    yield BLANK
