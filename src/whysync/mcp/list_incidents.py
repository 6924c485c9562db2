"""Tool `list_incidents`: open and past incidents from the history that `whysync serve` records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated

import msgspec

from whysync.history.history import History, IncidentFilter
from whysync.history.model import Incident
from whysync.mcp.answers import Page, Value
from whysync.mcp.arguments import Arguments, CursorText, Filter, Limit
from whysync.mcp.context import ToolContext, page_of
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import Untrusted, name, untrusted
from whysync.reports.terminal import short_age

_MOST_OUTBREAKS = 5
_READ_AT_ONCE = 200
_MOST_READ = 10_000


class ListIncidents(Arguments, frozen=True, kw_only=True):
    open: Annotated[bool, msgspec.Meta(description="only incidents that are open now")] = False
    app: Annotated[Filter, msgspec.Meta(description="part of the name of the app")] = ""
    cause: Annotated[Filter, msgspec.Meta(description="only incidents with this cause")] = ""
    project: Annotated[Filter, msgspec.Meta(description="only apps of this project")] = ""
    limit: Limit = 20
    cursor: CursorText = ""


class IncidentRow(Value, frozen=True, kw_only=True):
    """One app that was broken from `opened` to `closed`; without `closed` it is open."""

    id: int
    app: str
    cause: str
    severity: str
    why: Untrusted
    opened: str
    lasted: str
    closed: str = ""
    fix: Untrusted | None = None
    flaps: int = 0
    cause_changes: int = 0
    outbreak: int = 0


class OutbreakRow(Value, frozen=True, kw_only=True):
    """One cause that several open incidents have in common."""

    id: int
    cause: str
    open_apps: int
    what: Untrusted


class IncidentList(Page, frozen=True, kw_only=True):
    """The newest first. `outbreaks` are those that are open and have several apps."""

    incidents: tuple[IncidentRow, ...] = ()
    outbreaks: tuple[OutbreakRow, ...] = ()


def answer(arguments: ListIncidents, context: ToolContext) -> IncidentList:
    if context.history is None:
        raise ToolError(
            what="this server has no history of incidents",
            why="incidents are recorded by whysync serve, in a database",
            next="ask the user to start it with whysync mcp --db FILE.db; list_apps shows what is broken now",
        )
    _, before = context.start_of_page("list_incidents", arguments)
    matching = _matching(context.history, arguments, before)
    incidents = list(islice(matching, arguments.limit + 1))
    outbreaks = () if before else _outbreaks(context.history)

    def build(shown: Sequence[Incident]) -> IncidentList:
        rows = tuple(_row(incident, context.now) for incident in shown)
        return IncidentList(incidents=rows, outbreaks=outbreaks)

    return page_of(
        "list_incidents",
        arguments,
        "history",
        incidents,
        build,
        most_items=arguments.limit,
        position=lambda shown: shown[-1].id if shown else 0,
    )


def _matching(history: History, arguments: ListIncidents, before: int) -> Iterator[Incident]:
    """Read in parts, because the name is compared here."""
    for _ in range(_MOST_READ // _READ_AT_ONCE):
        wanted = IncidentFilter(
            open=True if arguments.open else None,
            cause=arguments.cause,
            project=arguments.project,
            before=before,
            limit=_READ_AT_ONCE,
        )
        incidents = history.incidents(wanted)
        yield from (one for one in incidents if arguments.app.lower() in str(one.app).lower())
        if len(incidents) < _READ_AT_ONCE:
            return
        before = incidents[-1].id


def _outbreaks(history: History) -> tuple[OutbreakRow, ...]:
    shared = [outbreak for outbreak in history.open_outbreaks() if outbreak.open_apps > 1]
    return tuple(
        OutbreakRow(
            id=outbreak.id,
            cause=name(outbreak.cause),
            open_apps=outbreak.open_apps,
            what=untrusted(outbreak.what, 200),
        )
        for outbreak in shared[:_MOST_OUTBREAKS]
    )


def _row(incident: Incident, now: datetime) -> IncidentRow:
    problem = incident.problem
    return IncidentRow(
        id=incident.id,
        app=name(str(incident.app)),
        cause=name(problem.cause),
        severity=name(problem.severity),
        why=untrusted(problem.verdict, 240),
        opened=_time(incident.opened_at),
        lasted=short_age(incident.duration(now)),
        closed=_time(incident.closed_at) if incident.closed_at else "",
        fix=untrusted(problem.fix, 200) if problem.fix else None,
        flaps=incident.flaps,
        cause_changes=incident.cause_changes,
        outbreak=incident.outbreak,
    )


def _time(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
