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
from whysync.reports.fleet import counts_of, gaps_of, urgency
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
    instance: str = ""
    severity: str = ""


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
    start = since(report)
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
        since=short_age(report.case.now - start) if start and cause else "",
        cause=cause,
        verdict=one_line(first.verdict) if first else "",
        instance=report.case.instance,
        severity=first.severity.value if first else "",
    )


def since(report: AppReport) -> datetime | None:
    """When the problem began, from the conditions, operation and health in the Application's status."""
    return problem_began(report.case)[0]


def _age(report: AppReport) -> timedelta:
    """The age of the problem; the maximum if there is none, or its time is unknown."""
    start = since(report) if report.findings or report.unexplained else None
    return report.case.now - start if start else timedelta.max


def _policy(report: AppReport) -> str:
    automated = report.case.app.spec.sync_policy.automated
    if automated is None or automated.enabled is False:
        return "Manual"
    return "Auto" + ("-Prune" if automated.prune else "") + ("-SelfHeal" if automated.self_heal else "")


def render(report: Report, terminal: Terminal, *, wide: bool = False) -> Safe:
    """A table. On a terminal the end of a long verdict is cut, but never a name or a cause."""
    rows = [row_of(app) for app in report.apps]
    columns = columns_of(rows, WIDE if wide else SHORT)
    lines = [tuple(head_of(column) for column in columns)]
    lines += [tuple(cell_of(row, column) for column in columns) for row in rows]
    if not wide and not terminal.piped:
        lines = _fitting(lines, rows, max(terminal.width, 60))
    out = table(lines, terminal)
    more = (*common_lines(report, terminal), *_unread_applications(report, terminal))
    return output.text([*out, "", str(counts_of(report)), *more])


def _unread_applications(report: Report, terminal: Terminal) -> Iterator[str]:
    """The list is not complete without these."""
    for gap in gaps_of(report.apps):
        if gap.about is not None and gap.about.kind == "Application":
            words = one_line(f"{gap.what}: {gap.why}; {gap.how_to_get}")
            yield from terminal.labeled("not readable", words, "yellow")


def _fitting(lines: list[tuple[str, ...]], rows: list[Row], width: int) -> list[tuple[str, ...]]:
    """The lines with the last column cut to the width, at most down to the cause."""
    start = sum(max(len(line[column]) for line in lines) + 3 for column in range(len(lines[0]) - 1))
    head, *rest = lines
    return [
        head,
        *(
            (*line[:-1], one_line(line[-1], max(width - start, len(row.cause) + 1)))
            for line, row in zip(rest, rows, strict=True)
        ),
    ]


def columns_of(rows: list[Row], columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns, with those that tell apps of the same name apart in front."""
    extra = [
        column
        for column in ("instance", "namespace")
        if len({getattr(row, column) for row in rows}) > 1 and (column == "instance" or columns is SHORT)
    ]
    return (*extra, *columns)


def head_of(column: str) -> str:
    return _HEADS.get(column, column.upper())


def cell_of(row: Row, column: str) -> str:
    if column == "cause" and row.verdict:
        return f"{row.cause}: {row.verdict}"
    return str(getattr(row, column)) or "-"


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


def as_markdown(report: Report) -> Safe:
    return page(_markdown(report))


def _markdown(report: Report) -> Iterator[Md]:
    rows = [row_of(app) for app in report.apps]
    columns = columns_of(rows, SHORT)
    yield row(*map(head_of, columns))
    yield rule(len(columns))
    for line in rows:
        yield row(*(cell_of(line, column) for column in columns))
    yield BLANK
    yield md("{}", counts_of(report))
    shared = [group for group in report.groups if len(group.apps) > 1][:_MOST_GROUPS]
    if shared:
        yield BLANK
    for group in shared:
        fix = md("; one fix for all: {}", one_line(group.fix.title)) if group.fix is not None else ""
        yield md("- {} apps, one cause: {}{}", len(group.apps), one_line(group.what), fix)


def names(report: Report) -> Safe:
    return output.text(app.case.qualified_name for app in report.apps)


def as_object(report: Report) -> Object:
    """The rows, and the shared causes as in `diagnose -o json`."""
    cases = {app.case.qualified_name: app.case for app in report.apps}
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
        "key": msgspec.to_builtins(group.key),
    }


def sort_key(column: str) -> Callable[[AppReport], tuple[object, ...]]:
    if column == "severity":
        return urgency
    if column == "since":
        return lambda app: (_age(app), app.case.qualified_name)
    return lambda app: (getattr(row_of(app), column), app.case.qualified_name)
