"""Rows of the database as values of the history, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, overload

import msgspec

from whysync.history.database import Row
from whysync.history.model import (
    AppKey,
    EventKind,
    Incident,
    LastSync,
    Notice,
    NoticeKind,
    Outbreak,
    Problem,
    TimelineEvent,
)

INCIDENT_COLUMNS: Final = (
    "id, instance, namespace, name, project, cluster, labels, outbreak, problem, first_cause,"
    " opened_at, changed_at, recovered_at, closed_at, flaps, cause_changes"
)
NOTICE_COLUMNS: Final = "id, key, kind, at, incident, outbreak, previous_cause"
TIMELINE_COLUMNS: Final = "id, at, kind, instance, namespace, name, incident, cause, detail, text"
OUTBREAK_COLUMNS: Final = (
    "o.id, o.cause, o.evidence_key, o.severity, o.what, o.opened_at, o.closed_at,"
    " (SELECT COUNT(*) FROM incidents i WHERE i.outbreak = o.id AND i.closed_at IS NULL),"
    " (SELECT COUNT(*) FROM incidents i WHERE i.outbreak = o.id)"
)


def millis(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


@overload
def instant(value: int) -> datetime: ...
@overload
def instant(value: int | None) -> datetime | None: ...
def instant(value: int | None) -> datetime | None:
    return None if value is None else datetime.fromtimestamp(value / 1000, UTC)


def as_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def incident_of(row: Row) -> Incident:
    return Incident(
        id=row[0],
        app=AppKey(row[1], row[2], row[3]),
        project=row[4],
        cluster=row[5],
        labels=msgspec.json.decode(row[6], type=dict[str, str]),
        outbreak=row[7],
        problem=msgspec.json.decode(row[8], type=Problem),
        first_cause=row[9],
        opened_at=instant(int(row[10])),
        changed_at=instant(int(row[11])),
        recovered_at=instant(row[12]),
        closed_at=instant(row[13]),
        flaps=row[14],
        cause_changes=row[15],
    )


def outbreak_of(row: Row) -> Outbreak:
    return Outbreak(
        id=row[0],
        cause=row[1],
        evidence_key=row[2],
        severity=row[3],
        what=row[4],
        opened_at=instant(int(row[5])),
        closed_at=instant(row[6]),
        open_apps=row[7],
        total_apps=row[8],
    )


def timeline_event_of(row: Row) -> TimelineEvent:
    return TimelineEvent(
        id=row[0],
        at=instant(int(row[1])),
        kind=EventKind(row[2]),
        app=AppKey(row[3], row[4], row[5]),
        incident=row[6],
        cause=row[7],
        detail=row[8],
        text=row[9],
    )


def notice_of(row: Row) -> Notice:
    return Notice(
        id=row[0],
        key=row[1],
        kind=NoticeKind(row[2]),
        at=instant(int(row[3])),
        incident=row[4],
        outbreak=row[5],
        previous_cause=row[6],
    )


def last_sync_of(text: str) -> LastSync | None:
    return msgspec.json.decode(text, type=LastSync | None)
