"""The sender: routes notices of the outbox to channels, sends what is due, and retries with backoff.

A delivery is confirmed after the receiver accepted it. If the process is killed in between, it is sent again
when its claim has expired, with the same `Idempotency-Key`: at least once, and never silently lost.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from whysync.errors import WhysyncError
from whysync.history.history import History, IncidentFilter
from whysync.history.model import Delivery, Incident, NewDelivery, Notice
from whysync.notifications.channels import Request, request_for
from whysync.notifications.config import Config
from whysync.notifications.message import Message, message_of
from whysync.notifications.routes import deliveries_for, is_over_before_sending, used_routes

if TYPE_CHECKING:  # a server without channels does not load the HTTP client
    import httpx2

_logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(minutes=30)
GIVE_UP_AFTER: Final = timedelta(days=2)
_MOST_OF_AN_OUTBREAK: Final = 10_000
_VERBOSE_LOGGERS: Final = ("httpx2", "httpcore2")
_TIMEOUT: Final = 10.0
_REFUSED: Final = frozenset({400, 405, 410, 413, 415, 422})
"""Statuses with which a receiver refuses the message itself: sending it again does not help."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    retry_after: str = ""


class Transport(Protocol):
    def __call__(self, request: Request, /) -> Response: ...


class Undeliverable(Exception):
    """The request could not be sent. The text names no URL, because URLs of channels are secrets."""


class Sender:
    def __init__(
        self,
        history: History,
        config: Config,
        *,
        send: Transport | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._history = history
        self._config = config
        self._environ = environ
        self._send = send or HttpTransport()
        self._sizes: dict[int, int] = {}
        """The number of apps of each open outbreak, when its channels were chosen."""
        self._channels = {channel.name: channel for channel in config.notifications.channels}

    def run(self, stop: threading.Event, *, every: float = 1.0) -> None:
        """Send what is due until `stop` is set. A database that is away is tried again."""
        while not stop.is_set():
            try:
                self.work(self._clock())
            except Exception as problem:  # the thread must survive whatever the database reports
                _logger.warning("notifications are delayed: %s", type(problem).__name__)
            stop.wait(every)

    def work(self, now: datetime) -> int:
        """Route new notices and send what is due; returns how many deliveries were accepted."""
        outbox = self._history.outbox
        for notice in outbox.unrouted():
            outbox.route(notice, self._deliveries(notice, notice.at), now)
        self._route_to_new_owners(now)
        return sum(self._deliver(delivery, now) for delivery in outbox.claim(now))

    def _route_to_new_owners(self, now: datetime) -> None:
        """An app that joins an outbreak can belong to people who have not been told about it yet."""
        sizes = {outbreak.id: outbreak.total_apps for outbreak in self._history.open_outbreaks()}
        for outbreak, size in sizes.items():
            if size == self._sizes.get(outbreak, 1):
                continue
            notice = self._history.outbox.beginning_of(outbreak)
            if notice is not None:
                self._history.outbox.also_send(notice, self._deliveries(notice, now))
        self._sizes = sizes

    def _deliveries(self, notice: Notice, at: datetime) -> tuple[NewDelivery, ...]:
        incidents = self._incidents(notice)
        if not incidents:  # deleted by the retention
            return ()
        severity = self._severity(notice, incidents[0])
        return deliveries_for(self._config.notifications, notice, incidents, severity, at)

    def _incidents(self, notice: Notice) -> tuple[Incident, ...]:
        """The incident of the notice, then the others of its outbreak."""
        incident = self._history.incident(notice.incident)
        if incident is None:
            return ()
        wanted = IncidentFilter(outbreak=notice.outbreak, limit=_MOST_OF_AN_OUTBREAK)
        others = (other for other in self._history.incidents(wanted) if other.id != incident.id)
        return (incident, *others)

    def _severity(self, notice: Notice, incident: Incident) -> str:
        outbreak = self._history.outbreak(notice.outbreak)
        return outbreak.severity if outbreak is not None and outbreak.severity else incident.problem.severity

    def _deliver(self, delivery: Delivery, now: datetime) -> bool:
        outbox = self._history.outbox
        channel = self._channels.get(delivery.channel)
        incidents = self._incidents(delivery.notice)
        if channel is None or not incidents:
            outbox.give_up(delivery, "the channel or the incident no longer exists", now)
            return False
        message = self._message(delivery, incidents)
        if self._is_over(delivery, incidents, message.severity):
            outbox.give_up(delivery, "the incident was over before the end of the quiet hours", now)
            return False
        try:
            response = self._send(request_for(channel, message, self._environ))
        except (Undeliverable, WhysyncError) as problem:
            self._retry(delivery, str(problem), now)
            return False
        if 200 <= response.status < 300:
            outbox.delivered(delivery, now)
            return True
        if response.status in _REFUSED:
            _logger.warning("channel %s refused a notification: HTTP %d", delivery.channel, response.status)
            outbox.give_up(delivery, f"HTTP {response.status}", now)
        else:
            self._retry(delivery, f"HTTP {response.status}", now, response.retry_after)
        return False

    def _retry(self, delivery: Delivery, error: str, now: datetime, retry_after: str = "") -> None:
        outbox = self._history.outbox
        if now - delivery.notice.at > GIVE_UP_AFTER:
            _logger.warning("channel %s: gave up after %d attempts", delivery.channel, delivery.attempts)
            outbox.give_up(delivery, error, now)
            return
        _logger.info("channel %s: attempt %d failed: %s", delivery.channel, delivery.attempts, error)
        outbox.failed(delivery, error, retry_at=now + pause_after(delivery.attempts, retry_after, now))

    def _message(self, delivery: Delivery, incidents: tuple[Incident, ...]) -> Message:
        notice = delivery.notice
        outbreak = self._history.outbreak(notice.outbreak)
        previous = notice.previous_cause
        return message_of(
            notice,
            incidents[0],
            outbreak,
            key=delivery.key,
            link=self._config.link or "",
            oldest=min(incidents, key=lambda incident: incident.id),
            before=self._history.outbreak_before(notice.outbreak, previous) if previous else None,
        )

    def _is_over(self, delivery: Delivery, incidents: tuple[Incident, ...], severity: str) -> bool:
        opened = min(incident.opened_at for incident in incidents)
        ends = [incident.closed_at for incident in incidents if incident.closed_at is not None]
        closed = max(ends) if len(ends) == len(incidents) else None
        routes = used_routes(self._config.notifications, incidents, severity)
        used = [route for route in routes if delivery.channel in route.channels]
        return bool(used) and all(is_over_before_sending(route, opened, closed, severity) for route in used)


def pause_after(attempts: int, retry_after: str, now: datetime) -> timedelta:
    """5 s, 10 s, 20 s … up to 30 minutes; longer if the receiver asks for it, at most for a day."""
    pause = min(FIRST_PAUSE * 2 ** min(max(attempts, 1) - 1, 12), LONGEST_PAUSE)
    return max(pause, min(_requested(retry_after, now), timedelta(days=1)))


def _requested(retry_after: str, now: datetime) -> timedelta:
    """The value of `Retry-After`: seconds or a date."""
    if retry_after.isdecimal() and len(retry_after) < 9:
        return timedelta(seconds=int(retry_after))
    try:
        return parsedate_to_datetime(retry_after) - now
    except (TypeError, ValueError):
        return timedelta(0)


class HttpTransport:
    """Sends with `httpx2`: no redirects, limits on time, and errors without the URL."""

    def __init__(self) -> None:
        self._client: httpx2.Client | None = None

    def __call__(self, request: Request) -> Response:
        import httpx2

        if self._client is None:
            for name in _VERBOSE_LOGGERS:  # they log URLs
                logging.getLogger(name).setLevel(logging.WARNING)
            self._client = httpx2.Client(timeout=_TIMEOUT, follow_redirects=False)
        try:
            with self._client.stream(
                "POST", str(request.url), headers=request.headers, content=request.body
            ) as response:
                return Response(
                    status=response.status_code, retry_after=response.headers.get("Retry-After", "")
                )
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            raise Undeliverable(type(problem).__name__) from None
