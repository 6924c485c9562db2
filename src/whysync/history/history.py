"""The history of a fleet: looks at apps open, change and close incidents, and leave notices in the outbox."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.history.database import Database, Value, open_database
from whysync.history.leases import DURATION, Leases
from whysync.history.model import (
    AppKey,
    EventKind,
    Incident,
    Look,
    NoticeKind,
    Outbreak,
    Problem,
    Retention,
    TimelineEvent,
)
from whysync.history.outbox import Outbox
from whysync.history.rows import (
    INCIDENT_COLUMNS,
    OUTBREAK_COLUMNS,
    TIMELINE_COLUMNS,
    as_text,
    incident_of,
    instant,
    last_sync_of,
    millis,
    outbreak_of,
    timeline_event_of,
)

FLAP_WINDOW: Final = timedelta(minutes=5)
"""An app that breaks again within this time after it recovered continues its incident."""
_OVERLAP: Final = 60_000
"""Milliseconds by which looks of two processes at one app can overlap."""
_SEVERITIES: Final = ("info", "warning", "critical")
_THIS_APP: Final = "instance = ? AND namespace = ? AND name = ?"


class IncidentFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which incidents to list. `before`: only those with a smaller id, for the next page.

    `label` is one of the Application, `team=shop`; `projects` are those that the viewer may see.
    """

    open: bool | None = None
    app: AppKey | None = None
    name: str = ""
    namespace: str = ""
    label: str = ""
    projects: frozenset[str] | None = None
    instance: str = ""
    project: str = ""
    cause: str = ""
    severity: str = ""
    outbreak: int = 0
    since: datetime | None = None
    before: int = 0
    limit: int = 100


class History:
    def __init__(
        self, database: Database, *, flap_window: timedelta = FLAP_WINDOW, lease: timedelta = DURATION
    ) -> None:
        self._database = database
        self._leases = Leases(database, duration=lease)
        self._flap_window = flap_window
        self.outbox = Outbox(database)

    @staticmethod
    def open(url: str, *, flap_window: timedelta = FLAP_WINDOW) -> History:
        """`url` is the path of an SQLite file, `:memory:`, or `postgresql://…`."""
        return History(open_database(url), flap_window=flap_window)

    def close(self) -> None:
        self._database.close()

    def release(self) -> None:
        """This process ends: another one may record at once."""
        self._leases.release()

    # --- recording ---------------------------------------------------------------------------------

    @contextmanager
    def turn(self, source: str) -> Generator[bool]:
        """A transaction for what `source` reports; false if another process records it."""
        with self._database.transaction():
            yield self._leases.take(source)

    def record(self, looks: Iterable[Look]) -> tuple[int, ...]:
        """Store looks in one transaction; returns the ids of the incidents that opened, changed or closed."""
        changed: list[int] = []
        with self._database.transaction():
            for look in looks:
                changed += _Recorder(self._database, look, self._flap_window).record()
        return tuple(dict.fromkeys(changed))

    def forget(self, apps: Iterable[AppKey], at: datetime) -> tuple[int, ...]:
        """These Applications no longer exist: close their incidents."""
        changed: list[int] = []
        with self._database.transaction():
            for app in apps:
                self._database.run(f"DELETE FROM apps WHERE {_THIS_APP}", *app)
                changed += _Recorder(self._database, Look(app=app, at=at), self._flap_window).forget()
        return tuple(changed)

    def settle(self, now: datetime) -> tuple[int, ...]:
        """Close the incidents whose apps have been healthy for the flap window."""
        limit = millis(now - self._flap_window)
        closed: list[int] = []
        with self._database.transaction():
            rows = self._database.rows(
                f"SELECT {INCIDENT_COLUMNS} FROM incidents WHERE closed_at IS NULL AND recovered_at <= ?",
                limit,
            )
            # not ORDER BY: SQLite would read the whole table in that order
            for incident in sorted(map(incident_of, rows), key=lambda incident: incident.id):
                look = Look(app=incident.app, at=now)
                closed += _Recorder(self._database, look, self._flap_window).close(incident)
        return tuple(closed)

    def purge(self, now: datetime, retention: Retention) -> int:
        """Delete what is older than the retention; open incidents and unsent notices are kept."""
        old = millis(now - retention.incidents)
        old_event = millis(now - retention.timeline)
        unsent = "SELECT notice FROM deliveries WHERE delivered_at IS NULL AND gave_up_at IS NULL"
        with self._database.transaction():
            run = self._database.run
            run(
                "DELETE FROM deliveries WHERE notice IN (SELECT id FROM notices WHERE at < ? AND routed_at IS"
                f" NOT NULL AND id NOT IN ({unsent}))",
                old,
            )
            run(
                "DELETE FROM notices WHERE at < ? AND routed_at IS NOT NULL"
                " AND id NOT IN (SELECT notice FROM deliveries)",
                old,
            )
            deleted = run(
                "DELETE FROM incidents WHERE closed_at < ? AND id NOT IN (SELECT incident FROM notices)", old
            )
            run(
                "DELETE FROM outbreaks WHERE closed_at < ? AND id NOT IN (SELECT outbreak FROM incidents)",
                old,
            )
            run(
                "DELETE FROM timeline WHERE at < ? AND (incident IS NULL"
                " OR incident NOT IN (SELECT id FROM incidents WHERE closed_at IS NULL))",
                old_event,
            )
        return deleted

    # --- reading -----------------------------------------------------------------------------------

    def apps_of(self, instances: Iterable[str]) -> frozenset[AppKey]:
        """The apps of these instances that existed at the last look."""
        rows = [
            row
            for instance in sorted(instances)
            for row in self._database.rows(
                "SELECT instance, namespace, name FROM apps WHERE instance = ?", instance
            )
        ]
        return frozenset(AppKey(*row) for row in rows)

    def last_event(self) -> int:
        """The id of the newest entry of all timelines."""
        return int(self._database.rows("SELECT COALESCE(MAX(id), 0) FROM timeline")[0][0])

    def incidents_changed_after(self, event: int) -> tuple[int, ...]:
        """The incidents with entries after this one."""
        rows = self._database.rows(
            "SELECT DISTINCT incident FROM timeline WHERE id > ? AND incident IS NOT NULL ORDER BY 1", event
        )
        return tuple(int(row[0]) for row in rows)

    def incident(self, id: int) -> Incident | None:
        rows = self._database.rows(f"SELECT {INCIDENT_COLUMNS} FROM incidents WHERE id = ?", id)
        return incident_of(rows[0]) if rows else None

    def open_incident(self, app: AppKey) -> Incident | None:
        return _open_incident(self._database, app)

    def incidents(self, wanted: IncidentFilter) -> tuple[Incident, ...]:
        """The newest first."""
        where, values = _conditions(wanted)
        rows = self._database.rows(
            f"SELECT {INCIDENT_COLUMNS} FROM incidents WHERE {where} ORDER BY id DESC LIMIT ?",
            *values,
            wanted.limit,
        )
        return tuple(map(incident_of, rows))

    def shares(
        self, wanted: IncidentFilter, *, column: str, now: datetime
    ) -> tuple[tuple[str, int, timedelta], ...]:
        """Incidents by `name`, `cause`, `project`, `instance`, `severity` or `labels`, with their time.

        The most frequent first. An open incident lasts until now.
        """
        if column not in ("name", "cause", "project", "instance", "severity", "labels"):
            raise ValueError(column)
        where, values = _conditions(wanted)
        rows = self._database.rows(
            f"SELECT {column}, COUNT(*), SUM(COALESCE(closed_at, recovered_at, ?) - opened_at)"
            f" FROM incidents WHERE {where} GROUP BY {column} ORDER BY 2 DESC, 1",
            millis(now),
            *values,
        )
        found = [(str(row[0]), int(row[1]), int(row[2])) for row in rows]
        if column == "labels":
            found = _by_label(found)
        return tuple((value, number, timedelta(milliseconds=time)) for value, number, time in found)

    def open_numbers(self) -> tuple[tuple[str, str, str, int], ...]:
        """The number of open incidents by instance, cause and severity."""
        rows = self._database.rows(
            "SELECT instance, cause, severity, COUNT(*) FROM incidents WHERE closed_at IS NULL"
            " GROUP BY instance, cause, severity ORDER BY 1, 2, 3"
        )
        return tuple((row[0], row[1], row[2], int(row[3])) for row in rows)

    def open_since(self) -> dict[AppKey, datetime]:
        """When each open incident began."""
        rows = self._database.rows(
            "SELECT instance, namespace, name, opened_at FROM incidents WHERE closed_at IS NULL"
        )
        return {AppKey(row[0], row[1], row[2]): instant(int(row[3])) for row in rows}

    def outbreak(self, id: int) -> Outbreak | None:
        rows = self._database.rows(f"SELECT {OUTBREAK_COLUMNS} FROM outbreaks o WHERE o.id = ?", id)
        return outbreak_of(rows[0]) if rows else None

    def outbreak_before(self, id: int, cause: str) -> Outbreak | None:
        """The outbreak of this cause whose apps then got the cause of outbreak `id`."""
        rows = self._database.rows(
            f"SELECT {OUTBREAK_COLUMNS} FROM outbreaks o WHERE o.followed_by = ? AND o.cause = ?"
            " ORDER BY o.id DESC LIMIT 1",
            id,
            cause,
        )
        return outbreak_of(rows[0]) if rows else None

    def open_outbreaks(self) -> tuple[Outbreak, ...]:
        """Those of most apps first."""
        rows = self._database.rows(
            f"SELECT {OUTBREAK_COLUMNS} FROM outbreaks o WHERE o.closed_at IS NULL ORDER BY o.id"
        )
        return tuple(sorted(map(outbreak_of, rows), key=lambda outbreak: -outbreak.open_apps))

    def timeline_of_app(self, app: AppKey, *, limit: int = 200) -> tuple[TimelineEvent, ...]:
        """The newest first."""
        rows = self._database.rows(
            f"SELECT {TIMELINE_COLUMNS} FROM timeline WHERE {_THIS_APP} ORDER BY at DESC, id DESC LIMIT ?",
            *app,
            limit,
        )
        return tuple(map(timeline_event_of, rows))

    def timeline_of_incident(self, incident: int) -> tuple[TimelineEvent, ...]:
        """The oldest first."""
        rows = self._database.rows(
            f"SELECT {TIMELINE_COLUMNS} FROM timeline WHERE incident = ? ORDER BY at, id", incident
        )
        return tuple(map(timeline_event_of, rows))

    def unstable_apps(self, since: datetime, *, least: int = 3) -> tuple[tuple[AppKey, int], ...]:
        """Apps that broke at least this often, by new incidents and by flaps; the worst first."""
        rows = self._database.rows(
            "SELECT instance, namespace, name, COUNT(*) FROM timeline WHERE kind IN (?, ?) AND at >= ?"
            " GROUP BY instance, namespace, name HAVING COUNT(*) >= ? ORDER BY 4 DESC, 1, 2, 3",
            EventKind.OPENED.value,
            EventKind.FLAPPED.value,
            millis(since),
            least,
        )
        return tuple((AppKey(row[0], row[1], row[2]), int(row[3])) for row in rows)

    def frequent_syncs(self, since: datetime, *, least: int = 6) -> tuple[tuple[AppKey, int], ...]:
        """Apps that were synced at least this often to one revision: a sync loop."""
        rows = self._database.rows(
            "SELECT instance, namespace, name, COUNT(*) FROM timeline WHERE kind = ? AND at >= ?"
            " GROUP BY instance, namespace, name, text HAVING COUNT(*) >= ? ORDER BY 4 DESC, 1, 2, 3",
            EventKind.SYNC.value,
            millis(since),
            least,
        )
        return tuple((AppKey(row[0], row[1], row[2]), int(row[3])) for row in rows)


def _by_label(found: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Numbers of incidents with the same labels as numbers of each label."""
    numbers: dict[str, tuple[int, int]] = {}
    for labels, number, time in found:
        for key, value in msgspec.json.decode(labels, type=dict[str, str]).items():
            before = numbers.get(f"{key}={value}", (0, 0))
            numbers[f"{key}={value}"] = (before[0] + number, before[1] + time)
    ordered = sorted(numbers.items(), key=lambda item: (-item[1][0], item[0]))
    return [(label, number, time) for label, (number, time) in ordered]


def _conditions(wanted: IncidentFilter) -> tuple[str, list[Value]]:
    conditions: list[str] = ["1 = 1"]
    values: list[Value] = []
    if wanted.open is not None:
        conditions.append("closed_at IS NULL" if wanted.open else "closed_at IS NOT NULL")
    if wanted.app is not None:
        conditions.append(_THIS_APP)
        values += wanted.app
    for column in ("instance", "namespace", "name", "project", "cause", "severity"):
        if value := getattr(wanted, column):
            conditions.append(f"{column} = ?")
            values.append(value)
    if wanted.label:  # in JSON a quote within a text is escaped, so this is a whole label
        key, _, value = wanted.label.partition("=")
        conditions.append("REPLACE(labels, ?, '') <> labels")
        values.append(as_text({key: value})[1:-1])
    if wanted.projects is not None:
        marks = ", ".join("?" * len(wanted.projects)) or "NULL"
        conditions.append(f"project IN ({marks})")
        values += sorted(wanted.projects)
    for column, number in (("outbreak =", wanted.outbreak), ("id <", wanted.before)):
        if number:
            conditions.append(f"{column} ?")
            values.append(number)
    if wanted.since is not None:
        conditions.append("(closed_at IS NULL OR closed_at >= ?)")
        values.append(millis(wanted.since))
    return " AND ".join(conditions), values


def _open_incident(database: Database, app: AppKey) -> Incident | None:
    rows = database.rows(
        f"SELECT {INCIDENT_COLUMNS} FROM incidents WHERE {_THIS_APP} AND closed_at IS NULL", *app
    )
    return incident_of(rows[0]) if rows else None


class _Recorder:
    """Stores one look; called within a transaction."""

    def __init__(self, database: Database, look: Look, flap_window: timedelta) -> None:
        self._database = database
        self._look = look
        self._at = millis(look.at)
        self._flap_window = flap_window

    def record(self) -> list[int]:
        if self._is_outdated():
            return []
        incident = _open_incident(self._database, self._look.app)
        self._note_changes(incident)
        problem = self._look.problem
        changed: list[int] = []
        if incident is not None and self._is_over(incident):
            changed += self.close(incident)
            incident = None
        if problem is None:
            changed += self._recovered(incident) if incident is not None else []
        elif incident is None:
            changed += self._open(problem)
        else:
            changed += self._continue(incident, problem)
        self._store_app()
        return changed

    def _is_outdated(self) -> bool:
        """Has a later look been recorded? A process that takes over may have looked before the last one.

        After a longer time it is the clock that was set back.
        """
        rows = self._database.rows(f"SELECT changed_at FROM apps WHERE {_THIS_APP}", *self._look.app)
        return bool(rows) and 0 < int(rows[0][0]) - self._at <= _OVERLAP

    def forget(self) -> list[int]:
        incident = _open_incident(self._database, self._look.app)
        if incident is None:
            return []
        self._note(EventKind.APP_DELETED, incident=incident.id, cause=incident.problem.cause)
        return self.close(incident)

    def _is_over(self, incident: Incident) -> bool:
        recovered_at = incident.recovered_at
        return recovered_at is not None and self._look.at - recovered_at >= self._flap_window

    # --- incidents ---------------------------------------------------------------------------------

    def _open(self, problem: Problem) -> list[int]:
        look = self._look
        outbreak, is_new = self._outbreak(problem)
        [[id]] = self._database.rows(
            "INSERT INTO incidents (instance, namespace, name, project, cluster, labels, outbreak, problem,"
            " cause, severity, first_cause, opened_at, changed_at, flaps, cause_changes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0) RETURNING id",
            *look.app,
            look.project,
            look.cluster,
            as_text(look.labels),
            outbreak,
            as_text(problem),
            problem.cause,
            problem.severity,
            problem.cause,
            self._at,
            self._at,
        )
        self._note(EventKind.OPENED, incident=id, cause=problem.cause, text=problem.verdict)
        if is_new:
            self._notify(NoticeKind.OPENED, f"outbreak-{outbreak}/opened", id, outbreak)
        return [id]

    def _continue(self, incident: Incident, problem: Problem) -> list[int]:
        flapped = incident.recovered_at is not None
        if flapped:
            self._database.run(
                "UPDATE incidents SET recovered_at = NULL, flaps = flaps + 1, changed_at = ? WHERE id = ?",
                self._at,
                incident.id,
            )
            self._note(EventKind.FLAPPED, incident=incident.id, cause=problem.cause, text=problem.verdict)
        if self._is_same_cause(incident.problem, problem):
            if problem != incident.problem:
                self._store_problem(incident.id, problem)
            return [incident.id] if flapped else []
        self._change_cause(incident, problem)
        return [incident.id]

    def _is_same_cause(self, one: Problem, other: Problem) -> bool:
        return (one.cause, self._shared_key(one)) == (other.cause, self._shared_key(other))

    def _change_cause(self, incident: Incident, problem: Problem) -> None:
        """Move the incident to the outbreak of its new cause; one notice per outbreak that is left."""
        outbreak, _ = self._outbreak(problem)
        self._store_problem(incident.id, problem)
        self._database.run(
            "UPDATE incidents SET outbreak = ?, changed_at = ?, cause_changes = cause_changes + 1"
            " WHERE id = ?",
            outbreak,
            self._at,
            incident.id,
        )
        self._note(
            EventKind.CAUSE_CHANGED,
            incident=incident.id,
            cause=problem.cause,
            detail=incident.problem.cause,
            text=problem.verdict,
        )
        is_first = self._database.run(
            "UPDATE outbreaks SET followed_by = ? WHERE id = ? AND followed_by IS NULL",
            outbreak,
            incident.outbreak,
        )
        if is_first:
            key = f"incident-{incident.id}/cause-{incident.cause_changes + 1}"
            self._notify(
                NoticeKind.CAUSE_CHANGED, key, incident.id, outbreak, previous=incident.problem.cause
            )
        self._end_outbreak(incident.outbreak, self._at)

    def _recovered(self, incident: Incident) -> list[int]:
        if incident.recovered_at is not None or self._look.in_progress:
            return []
        self._database.run("UPDATE incidents SET recovered_at = ? WHERE id = ?", self._at, incident.id)
        self._note(EventKind.RECOVERED, incident=incident.id, cause=incident.problem.cause)
        if self._flap_window <= timedelta(0):
            self.close(msgspec.structs.replace(incident, recovered_at=self._look.at))
        return [incident.id]

    def close(self, incident: Incident) -> list[int]:
        """Close the incident at the time of the first healthy look."""
        closed_at = millis(incident.recovered_at) if incident.recovered_at else self._at
        self._database.run(
            "UPDATE incidents SET closed_at = ?, changed_at = ? WHERE id = ?",
            closed_at,
            self._at,
            incident.id,
        )
        self._note(EventKind.CLOSED, incident=incident.id, cause=incident.problem.cause)
        if self._end_outbreak(incident.outbreak, closed_at):
            key = f"outbreak-{incident.outbreak}/closed"
            self._notify(NoticeKind.CLOSED, key, incident.id, incident.outbreak)
        return [incident.id]

    # --- outbreaks ---------------------------------------------------------------------------------

    def _shared_key(self, problem: Problem) -> str:
        return problem.evidence_key or f"app {self._look.app}"

    def _outbreak(self, problem: Problem) -> tuple[int, bool]:
        """The open outbreak of this cause, and whether it is new."""
        key = self._shared_key(problem)
        found = self._database.rows(
            "SELECT id, severity FROM outbreaks WHERE cause = ? AND evidence_key = ? AND closed_at IS NULL",
            problem.cause,
            key,
        )
        if found:
            id, severity = found[0]
            if _weight(problem.severity) > _weight(severity):
                self._database.run("UPDATE outbreaks SET severity = ? WHERE id = ?", problem.severity, id)
            return id, False
        [[id]] = self._database.rows(
            "INSERT INTO outbreaks (cause, evidence_key, severity, what, opened_at)"
            " VALUES (?, ?, ?, ?, ?) RETURNING id",
            problem.cause,
            key,
            problem.severity,
            problem.verdict,
            self._at,
        )
        return id, True

    def _end_outbreak(self, outbreak: int, closed_at: int) -> bool:
        """Close the outbreak if none of its incidents is open."""
        return bool(
            self._database.run(
                "UPDATE outbreaks SET closed_at = ? WHERE id = ? AND closed_at IS NULL AND NOT EXISTS"
                " (SELECT 1 FROM incidents WHERE outbreak = outbreaks.id AND closed_at IS NULL)",
                closed_at,
                outbreak,
            )
        )

    # --- rows --------------------------------------------------------------------------------------

    def _store_problem(self, incident: int, problem: Problem) -> None:
        self._database.run(
            "UPDATE incidents SET problem = ?, cause = ?, severity = ? WHERE id = ?",
            as_text(problem),
            problem.cause,
            problem.severity,
            incident,
        )

    def _notify(
        self, kind: NoticeKind, key: str, incident: int, outbreak: int, *, previous: str = ""
    ) -> None:
        self._database.run(
            "INSERT INTO notices (key, kind, at, incident, outbreak, previous_cause)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            key,
            kind.value,
            self._at,
            incident,
            outbreak,
            previous,
        )

    def _note(
        self, kind: EventKind, *, incident: int | None, cause: str = "", detail: str = "", text: str = ""
    ) -> None:
        self._database.run(
            "INSERT INTO timeline (at, kind, instance, namespace, name, incident, cause, detail, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self._at,
            kind.value,
            *self._look.app,
            incident,
            cause,
            detail,
            text,
        )

    def _note_changes(self, incident: Incident | None) -> None:
        """Entries for what changed since the last look: a sync, another commit, another status."""
        look = self._look
        id = incident.id if incident is not None else None
        found = self._database.rows(
            f"SELECT sync, health, revision, last_sync FROM apps WHERE {_THIS_APP}", *look.app
        )
        if not found:
            return
        sync, health, revision, last_sync = found[0]
        if look.revision and look.revision != revision:
            self._note(EventKind.REVISION, incident=id, detail=look.revision, text=revision)
        if look.last_sync is not None and look.last_sync != last_sync_of(last_sync):
            current = look.last_sync
            if current.phase not in ("Running", "Terminating"):
                self._note(EventKind.SYNC, incident=id, detail=current.phase, text=current.revision)
        if (look.sync, look.health) != (sync, health):
            self._note(
                EventKind.STATUS,
                incident=id,
                detail=f"{look.sync} {look.health}".strip(),
                text=f"{sync} {health}".strip(),
            )

    def _store_app(self) -> None:
        look, problem = self._look, self._look.problem
        values: Sequence[Value] = (
            look.project,
            look.cluster,
            as_text(look.labels),
            look.sync,
            look.health,
            look.revision,
            as_text(look.last_sync),
            problem.cause if problem is not None else "",
            problem.severity if problem is not None else "",
            self._at,
            None if problem is not None or look.in_progress else self._at,
        )
        self._database.run(
            "INSERT INTO apps (project, cluster, labels, sync, health, revision, last_sync, cause, severity,"
            " changed_at, healthy_at, first_seen_at, instance, namespace, name)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (instance, namespace, name) DO UPDATE SET project = excluded.project,"
            " cluster = excluded.cluster, labels = excluded.labels, sync = excluded.sync,"
            " health = excluded.health, revision = excluded.revision, last_sync = excluded.last_sync,"
            " cause = excluded.cause, severity = excluded.severity, changed_at = excluded.changed_at,"
            " healthy_at = COALESCE(excluded.healthy_at, apps.healthy_at)",
            *values,
            self._at,
            *look.app,
        )


def _weight(severity: str) -> int:
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else 0
