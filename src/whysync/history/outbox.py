"""The outbox: notices that are to be routed to channels, and deliveries that are to be sent.

The sender asks for unrouted notices, stores one delivery per channel with `route`, claims due deliveries,
sends them, and confirms each. A sender that dies between sending and confirming sends again with the same key
after its claim has expired: a delivery arrives at least once, and a receiver that knows its
key ignores the copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from whysync.history.database import Database
from whysync.history.model import Delivery, EventKind, NewDelivery, Notice, NoticeKind
from whysync.history.rows import NOTICE_COLUMNS, instant, millis, notice_of

CLAIM: Final = timedelta(minutes=2)
"""How long a claimed delivery is left to the process that claimed it."""


class Outbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    def unrouted(self, limit: int = 100) -> tuple[Notice, ...]:
        """Notices for which no channel has been chosen yet, the oldest first."""
        rows = self._database.rows(
            f"SELECT {NOTICE_COLUMNS} FROM notices WHERE routed_at IS NULL ORDER BY id LIMIT ?", limit
        )
        return tuple(map(notice_of, rows))

    def route(self, notice: Notice, deliveries: Iterable[NewDelivery], now: datetime) -> None:
        """Store the deliveries of a notice, none if no route matches. A routed notice is not routed again."""
        with self._database.transaction():
            is_first = self._database.run(
                "UPDATE notices SET routed_at = ? WHERE id = ? AND routed_at IS NULL", millis(now), notice.id
            )
            self._add(notice, deliveries if is_first else ())

    def also_send(self, notice: Notice, deliveries: Iterable[NewDelivery]) -> None:
        """Send a routed notice to further channels: an app that another team owns joined the outbreak."""
        with self._database.transaction():
            self._add(notice, deliveries)

    def _add(self, notice: Notice, deliveries: Iterable[NewDelivery]) -> None:
        """A channel gets a notice once, also if this is called again."""
        for delivery in deliveries:
            self._database.run(
                "INSERT INTO deliveries (key, notice, channel, due_at, claimed_until, attempts, error)"
                " VALUES (?, ?, ?, ?, 0, 0, '') ON CONFLICT (key) DO NOTHING",
                f"{notice.key}/{delivery.channel}",
                notice.id,
                delivery.channel,
                millis(delivery.due_at),
            )

    def beginning_of(self, outbreak: int) -> Notice | None:
        """The routed notice with which an outbreak began: it opened, or another one got this cause."""
        rows = self._database.rows(
            f"SELECT {NOTICE_COLUMNS} FROM notices WHERE outbreak = ? AND kind <> ? AND routed_at IS NOT NULL"
            " ORDER BY id LIMIT 1",
            outbreak,
            NoticeKind.CLOSED.value,
        )
        return notice_of(rows[0]) if rows else None

    def claim(self, now: datetime, *, limit: int = 20, claim: timedelta = CLAIM) -> tuple[Delivery, ...]:
        """Take due deliveries; no other process gets them until the claim expires."""
        columns = ", ".join(f"n.{column}" for column in NOTICE_COLUMNS.split(", "))
        claimed: list[Delivery] = []
        with self._database.transaction():
            rows = self._database.rows(
                f"SELECT d.id, d.key, d.channel, d.attempts, d.due_at, {columns} FROM deliveries d"
                " JOIN notices n ON n.id = d.notice WHERE d.delivered_at IS NULL AND d.gave_up_at IS NULL"
                " AND d.due_at <= ? AND d.claimed_until <= ? ORDER BY d.id LIMIT ?",
                millis(now),
                millis(now),
                limit,
            )
            for id, key, channel, attempts, due_at, *notice in rows:
                is_ours = self._database.run(
                    "UPDATE deliveries SET claimed_until = ?, attempts = attempts + 1"
                    " WHERE id = ? AND claimed_until <= ? AND delivered_at IS NULL",
                    millis(now + claim),
                    id,
                    millis(now),
                )
                if is_ours:
                    claimed.append(
                        Delivery(
                            id=id,
                            key=key,
                            channel=channel,
                            notice=notice_of(tuple(notice)),
                            attempts=int(attempts) + 1,
                            due_at=instant(int(due_at)),
                        )
                    )
        return tuple(claimed)

    def delivered(self, delivery: Delivery, now: datetime) -> None:
        """The channel accepted it: it is not sent again, and the timeline of the incident shows it."""
        with self._database.transaction():
            is_first = self._database.run(
                "UPDATE deliveries SET delivered_at = ?, error = '' WHERE id = ? AND delivered_at IS NULL",
                millis(now),
                delivery.id,
            )
            if is_first:
                self._database.run(
                    "INSERT INTO timeline (at, kind, instance, namespace, name, incident, cause, detail,"
                    " text) SELECT ?, ?, instance, namespace, name, id, cause, ?, ? FROM incidents"
                    " WHERE id = ?",
                    millis(now),
                    EventKind.NOTIFIED.value,
                    delivery.channel,
                    delivery.notice.kind.value,
                    delivery.notice.incident,
                )

    def failed(self, delivery: Delivery, error: str, *, retry_at: datetime) -> None:
        """The channel did not accept it: it is due again at `retry_at`."""
        self._database.run(
            "UPDATE deliveries SET error = ?, due_at = ?, claimed_until = 0 WHERE id = ?",
            error,
            millis(retry_at),
            delivery.id,
        )

    def give_up(self, delivery: Delivery, error: str, now: datetime) -> None:
        """It can never be delivered: the channel no longer exists, or refuses it for good."""
        self._database.run(
            "UPDATE deliveries SET error = ?, gave_up_at = ? WHERE id = ?", error, millis(now), delivery.id
        )

    def waiting(self) -> int:
        """The number of notices and deliveries that have not been sent."""
        [[notices]] = self._database.rows("SELECT COUNT(*) FROM notices WHERE routed_at IS NULL")
        [[deliveries]] = self._database.rows(
            "SELECT COUNT(*) FROM deliveries WHERE delivered_at IS NULL AND gave_up_at IS NULL"
        )
        return int(notices) + int(deliveries)
