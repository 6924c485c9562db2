"""Values of the incident history: looks, incidents, outbreaks, and the outbox of notifications."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec


class AppKey(NamedTuple):
    """An Application: the Argo CD instance that manages it, its namespace and its name."""

    instance: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with an app: its first finding, reduced to what a list or a notification shows.

    `evidence_key` is equal for apps that have the cause in common: one webhook, one repository. It is
    empty if nothing can be shared.
    """

    cause: str
    rule: str = ""
    severity: str = "warning"
    verdict: str
    root: str = ""
    fix: str = ""
    evidence_key: str = ""


class LastSync(msgspec.Struct, frozen=True, kw_only=True):
    """The last sync operation of an app, as Argo CD reports it."""

    phase: str
    started_at: str = ""
    revision: str = ""
    message: str = ""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one diagnosis of an app found; without a problem the app is fine.

    `in_progress`: a sync or a rollout is running, so that an incident is neither over nor another one.
    """

    app: AppKey
    at: datetime
    project: str = ""
    cluster: str = ""
    labels: dict[str, str] = {}
    sync: str = ""
    health: str = ""
    revision: str = ""
    last_sync: LastSync | None = None
    problem: Problem | None = None
    in_progress: bool = False


class EventKind(StrEnum):
    """An entry in the timeline of an app."""

    OPENED = "opened"
    CAUSE_CHANGED = "cause-changed"
    RECOVERED = "recovered"
    FLAPPED = "flapped"
    CLOSED = "closed"
    APP_DELETED = "app-deleted"
    SYNC = "sync"
    REVISION = "revision"
    STATUS = "status"
    NOTIFIED = "notified"


class TimelineEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`detail`: the phase of a sync, a commit, a status, a channel; `text` is for people."""

    id: int
    at: datetime
    kind: EventKind
    app: AppKey
    incident: int | None = None
    cause: str = ""
    detail: str = ""
    text: str = ""


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One app that is broken, from the first look that found it until the first healthy look.

    It has one cause at a time. While `recovered_at` is set and `closed_at` is not, the app is healthy, but
    may still break again within the flap window; that is the same incident, with one more flap.
    """

    id: int
    app: AppKey
    project: str
    cluster: str
    labels: dict[str, str]
    outbreak: int
    problem: Problem
    first_cause: str
    opened_at: datetime
    changed_at: datetime
    recovered_at: datetime | None = None
    closed_at: datetime | None = None
    flaps: int = 0
    cause_changes: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    def duration(self, now: datetime) -> timedelta:
        return (self.closed_at or self.recovered_at or now) - self.opened_at


class Outbreak(msgspec.Struct, frozen=True, kw_only=True):
    """One cause that open incidents have in common; often of one app only."""

    id: int
    cause: str
    evidence_key: str
    severity: str
    what: str
    opened_at: datetime
    closed_at: datetime | None = None
    open_apps: int = 0
    total_apps: int = 0


class NoticeKind(StrEnum):
    OPENED = "opened"
    CAUSE_CHANGED = "cause-changed"
    CLOSED = "closed"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that people are told once. It is stored in the transaction that changes the incident.

    `previous_cause` is set if the cause changed. `key` is unique and the same after a restart.
    """

    id: int
    key: str
    kind: NoticeKind
    at: datetime
    incident: int
    outbreak: int
    previous_cause: str = ""


class NewDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A notice for one channel, not before `due_at` (quiet hours)."""

    channel: str
    due_at: datetime


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A notice to send to one channel. `key` is its idempotency key: a receiver that saw it ignores it."""

    id: int
    key: str
    channel: str
    notice: Notice
    attempts: int
    due_at: datetime


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long closed incidents and the entries of timelines are kept."""

    incidents: timedelta = timedelta(days=365)
    timeline: timedelta = timedelta(days=90)
