"""`list` in every output format: one line per Application, as in `argocd app list`, with its cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Group, Report
from whysync.json_tree import Object
from whysync.queries.recent_changes import problem_began
from whysync.reports import output
from whysync.reports.json_yaml import tree
from whysync.reports.markdown_text import BLANK, Md, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line, short_age, table


class Row(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str
    cluster: str
    destination: str
    project: str
    sync: str
    health: str
    policy: str
    conditions: str
    since: str
    cause: str
    verdict: str


SHORT = ("name", "project", "sync", "health", "since", "cause")
WIDE = (
    "name",
    "cluster",
    "destination",
    "project",
    "sync",
    "health",
    "policy",
    "conditions",
    "since",
    "cause",
)
_MOST_GROUPS = 3
_HEADS = {"name": "APP", "destination": "NAMESPACE", "namespace": "APP-NAMESPACE"}


def row_of(report: AppReport) -> Row:
    app = report.case.app
    first = report.first
    cause = first.cause if first else "unexplained" if report.unexplained else ""
    begun = since(report)
    return Row(
        name=app.name,
        namespace=app.namespace,
        cluster=app.spec.destination.name or app.spec.destination.server,
        destination=app.spec.destination.namespace,
        project=app.project,
        sync=app.status.sync.status,
        health=app.status.health.status,
        policy=_policy(report),
        conditions=",".join(sorted({condition.type for condition in app.status.conditions})),
        since=short_age(report.case.now - begun) if begun and cause else "",
        cause=cause,
        verdict=one_line(first.verdict) if first else "",
    )


def since(report: AppReport) -> datetime | None:
    """When the problem began, from the conditions, operation and health in the Application's status."""
    return problem_began(report.case)[0]


def _age(report: AppReport) -> timedelta:
    """The age of the problem; the maximum if there is none, or its time is unknown."""
    begun = since(report) if report.findings or report.unexplained else None
    return report.case.now - begun if begun else timedelta.max


def _policy(report: AppReport) -> str:
    automated = report.case.app.spec.sync_policy.automated
    if automated is None or automated.enabled is False:
        return "Manual"
    return "Auto" + ("-Prune" if automated.prune else "") + ("-SelfHeal" if automated.self_heal else "")


def render(report: Report, terminal: Terminal, *, wide: bool = False) -> Safe:
    rows = [row_of(app) for app in report.apps]
    columns = WIDE if wide else SHORT
    if not wide and len({row.namespace for row in rows}) > 1:
        columns = ("namespace", *SHORT)
    lines = [tuple(_HEADS.get(column, column.upper()) for column in columns)]
    lines += [tuple(_cell(row, column) for column in columns) for row in rows]
    out = table(lines, terminal, most=None if wide else max(terminal.width, 60))
    return output.text([*out, "", _summary(report), *common_lines(report, terminal)])


def _cell(row: Row, column: str) -> str:
    if column == "cause" and row.verdict:
        return f"{row.cause}: {row.verdict}"
    return str(getattr(row, column)) or "-"


def _summary(report: Report) -> str:
    need = sum(1 for app in report.apps if _needs_attention(app))
    waiting = sum(1 for app in report.apps if app.findings and not _needs_attention(app))
    total = len(report.apps)
    parts = [f"{need} of {total} need attention", f"{waiting} in progress", f"{total - need - waiting} fine"]
    return " · ".join(parts)


def common_lines(report: Report, terminal: Terminal) -> Iterator[str]:
    """Causes that several apps share, the most frequent first, with the fix for all if there is one."""
    for group in [group for group in report.groups if len(group.apps) > 1][:_MOST_GROUPS]:
        head = f"{len(group.apps)} apps, one cause: "
        arrow = terminal.mark("arrow")
        yield ""
        yield from terminal.wrap(f"{head}{one_line(group.what)}", indent=2)
        yield f"    {arrow} whysync list --cause {group.cause}"
        if group.fix is not None:
            tried = f", tried on all {len(group.apps)}" if group.checked else ""
            yield from terminal.wrap(f"one fix for all{tried}: {one_line(group.fix.title)}", indent=4)
            yield f"    {arrow} whysync fix --for-all --cause {group.cause}"


def _needs_attention(app: AppReport) -> bool:
    return bool(app.unexplained) or any(finding.severity.weight > 0 for finding in app.findings)


def as_markdown(report: Report) -> Safe:
    return page(_markdown(report))


def _markdown(report: Report) -> Iterator[Md]:
    yield row(*(_HEADS.get(column, column.upper()) for column in SHORT))
    yield rule(len(SHORT))
    for app in report.apps:
        line = row_of(app)
        yield row(*(_cell(line, column) for column in SHORT))
    yield BLANK
    yield md("{}", _summary(report))
    shared = [group for group in report.groups if len(group.apps) > 1][:_MOST_GROUPS]
    if shared:
        yield BLANK
    for group in shared:
        fix = md("; one fix for all: {}", one_line(group.fix.title)) if group.fix is not None else ""
        yield md("- {} apps, one cause: {}{}", len(group.apps), one_line(group.what), fix)


def names(report: Report) -> Safe:
    return output.text(app.case.app.qualified_name for app in report.apps)


def as_object(report: Report) -> Object:
    """The rows, and the shared causes as in `diagnose -o json`."""
    cases = {app.case.app.qualified_name: app.case for app in report.apps}
    return {
        "version": 1,
        "apps": [msgspec.to_builtins(row_of(app)) for app in report.apps],
        "groups": [_group(group, cases.get(group.apps[0])) for group in report.groups],
    }


def _group(group: Group, case: Case | None) -> Object:
    from whysync.reports.diagnose_json import fix_v1

    fix = tree(fix_v1(group.fix, case)) if group.fix is not None and case is not None else None
    return {
        "cause": group.cause,
        "rule": group.rule,
        "what": group.what,
        "apps": list(group.apps),
        "fix": fix,
        "checked": group.checked,
    }


def sort_key(column: str) -> Callable[[AppReport], tuple[object, ...]]:
    if column == "since":
        return lambda app: (_age(app), app.case.app.name)
    return lambda app: (getattr(row_of(app), column), app.case.app.name)
