"""Tool `list_apps`: what is broken, the worst first, with the cause of each app and shared causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from whysync.app import known_causes, shared_causes
from whysync.diagnosis.report import AppReport, Group
from whysync.mcp.answers import Page, Value
from whysync.mcp.arguments import Arguments, CursorText, Filter, Limit
from whysync.mcp.context import ToolContext, page_of
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import Untrusted, name, untrusted
from whysync.reports.fleet import counts_of, is_broken, worst_first
from whysync.reports.list_view import row_of

_MOST_GROUPS = 5
_MOST_NAMES = 8


class ListApps(Arguments, frozen=True, kw_only=True):
    all: Annotated[bool, msgspec.Meta(description="also apps without a problem")] = False
    cause: Annotated[Filter, msgspec.Meta(description="only apps with this cause, such as repo-auth")] = ""
    sync: Annotated[Filter, msgspec.Meta(description="Synced, OutOfSync or Unknown")] = ""
    health: Annotated[Filter, msgspec.Meta(description="Healthy, Degraded, Progressing, Missing, …")] = ""
    project: Annotated[Filter, msgspec.Meta(description="only apps of this project")] = ""
    instance: Annotated[Filter, msgspec.Meta(description="only apps of this Argo CD instance")] = ""
    search: Annotated[Filter, msgspec.Meta(description="part of the name of the app")] = ""
    limit: Limit = 20
    cursor: CursorText = ""


class AppRow(Value, frozen=True, kw_only=True):
    app: str
    sync: str
    health: str
    project: str = ""
    since: str = ""
    severity: str = ""
    cause: str = ""
    why: Untrusted | None = None


class SharedCause(Value, frozen=True, kw_only=True):
    """One cause of several apps."""

    cause: str
    count: int
    what: Untrusted
    apps: tuple[str, ...]


class AppList(Page, frozen=True, kw_only=True):
    """`matching`: apps that match the arguments; the counts are those of all apps."""

    total: int
    broken: int
    in_progress: int
    fine: int
    matching: int
    apps: tuple[AppRow, ...] = ()
    shared: tuple[SharedCause, ...] = ()
    next: str = ""


def answer(arguments: ListApps, context: ToolContext) -> AppList:
    _check_cause(arguments.cause)
    if context.history is not None and not context.has_source:
        raise ToolError(
            what="this server only has the history of whysync serve",
            why="it was started with --db and without a source of facts",
            next="call list_incidents with open: true for what is broken now",
        )
    reading, offset = context.start_of_page("list_apps", arguments)
    facts = context.facts.everything(context.deadline, reading=reading)
    counts = counts_of(facts.fleet)
    matching = worst_first(report for report in facts.fleet.apps if _matches(report, arguments))
    shared = () if offset else [group for group in shared_causes(matching) if len(group.apps) > 1]
    groups = tuple(map(_shared, shared[:_MOST_GROUPS]))

    def build(shown: Sequence[AppReport]) -> AppList:
        return AppList(
            total=counts.total,
            broken=counts.broken,
            in_progress=counts.in_progress,
            fine=counts.fine,
            matching=len(matching),
            apps=tuple(map(_row, shown)),
            shared=groups,
            next="call diagnose with the name of an app for its evidence and fixes" if shown else "",
        )

    return page_of(
        "list_apps", arguments, facts.id, matching, build, offset=offset, most_items=arguments.limit
    )


def _check_cause(cause: str) -> None:
    if not cause or cause in known_causes():
        return
    from difflib import get_close_matches

    similar = get_close_matches(cause, known_causes(), n=3)
    raise ToolError(
        what=f"unknown cause {name(cause)}",
        why=f"did you mean {' or '.join(similar)}?" if similar else "no rule has this cause",
        next="call explain without text for all causes",
    )


def _matches(report: AppReport, arguments: ListApps) -> bool:
    row = row_of(report)
    has_filter = arguments.cause or arguments.sync or arguments.health or arguments.search
    if not (arguments.all or has_filter or is_broken(report)):
        return False
    equal = (
        (arguments.cause, row.cause),
        (arguments.sync.lower(), row.sync.lower()),
        (arguments.health.lower(), row.health.lower()),
        (arguments.project, row.project),
        (arguments.instance, row.instance),
    )
    if any(wanted and wanted != value for wanted, value in equal):
        return False
    return arguments.search.lower() in report.case.qualified_name.lower()


def _row(report: AppReport) -> AppRow:
    row = row_of(report)
    return AppRow(
        app=name(report.case.qualified_name),
        sync=name(row.sync),
        health=name(row.health),
        project=name(row.project),
        since=row.since,
        severity=row.severity,
        cause=row.cause,
        why=untrusted(row.verdict, 200) if row.verdict else None,
    )


def _shared(group: Group) -> SharedCause:
    return SharedCause(
        cause=group.cause,
        count=len(group.apps),
        what=untrusted(group.what, 200),
        apps=tuple(map(name, group.apps[:_MOST_NAMES])),
    )
