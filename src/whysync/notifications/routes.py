"""Routes: which channels a notice is sent to, and when, with quiet hours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

from whysync.history.model import Incident, NewDelivery, Notice
from whysync.notifications.config import DAYS, Match, Notifications, QuietHours, Route


def deliveries_for(
    settings: Notifications, notice: Notice, incidents: Iterable[Incident], severity: str, at: datetime
) -> tuple[NewDelivery, ...]:
    """One delivery per channel, the earliest if several routes lead to it.

    `incidents` are all of the outbreak: everyone who owns a broken app is told, each channel once. `at`: when
    it is to be sent, if it is not quiet then.
    """
    due: dict[str, datetime] = {}
    for route in used_routes(settings, incidents, severity):
        if notice.kind not in route.events:
            continue
        earliest = due_at(route, at, severity)
        for channel in route.channels:
            due[channel] = min(due.get(channel, earliest), earliest)
    return tuple(NewDelivery(channel=channel, due_at=time) for channel, time in sorted(due.items()))


def used_routes(settings: Notifications, incidents: Iterable[Incident], severity: str) -> tuple[Route, ...]:
    """The routes of any of the incidents, in their order."""
    used = {id(route) for incident in incidents for route in routes_for(settings, incident, severity)}
    return tuple(route for route in settings.routes if id(route) in used)


def routes_for(settings: Notifications, incident: Incident, severity: str) -> Iterator[Route]:
    """The matching routes up to the first one without `continue`."""
    for route in settings.routes:
        if matches(route.match, incident, severity):
            yield route
            if not route.continue_:
                return


def matches(match: Match, incident: Incident, severity: str) -> bool:
    wanted = (
        (match.instance, incident.app.instance),
        (match.project, incident.project),
        (match.cause, incident.problem.cause),
        (match.severity, severity),
    )
    if any(patterns and not _any(value, patterns) for patterns, value in wanted):
        return False
    return all(
        name in incident.labels and fnmatchcase(incident.labels[name], pattern)
        for name, pattern in match.labels.items()
    )


def _any(value: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def due_at(route: Route, at: datetime, severity: str) -> datetime:
    """When to send: at once, or at the end of the quiet hours."""
    quiet = route.quiet_hours
    if quiet is None or severity in quiet.urgent:
        return at
    return end_of_quiet(quiet, at) or at


def end_of_quiet(quiet: QuietHours, at: datetime) -> datetime | None:
    """The end of the quiet hours that contain `at`; `None` if it is not quiet then.

    Hours that end on the next morning belong to the day on which they begin.
    """
    zone = ZoneInfo(quiet.timezone)
    local = at.astimezone(zone)
    begins, ends = time.fromisoformat(quiet.from_), time.fromisoformat(quiet.to)
    for day in (local.date() - timedelta(days=1), local.date()):
        if DAYS[day.weekday()] not in quiet.days:
            continue
        start = datetime.combine(day, begins, zone)
        end = datetime.combine(day if ends > begins else day + timedelta(days=1), ends, zone)
        if start <= local < end:
            return end.astimezone(at.tzinfo)
    return None


def is_over_before_sending(route: Route, opened: datetime, closed: datetime | None, severity: str) -> bool:
    """Did it begin and end within the same quiet hours? Then nobody is told about it."""
    quiet = route.quiet_hours
    if quiet is None or severity in quiet.urgent or closed is None:
        return False
    end = end_of_quiet(quiet, opened)
    return end is not None and end == end_of_quiet(quiet, closed)
