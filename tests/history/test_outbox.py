"""The outbox: a notice is routed once, and a delivery is repeated with its key until it is confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.history.looks import OOM, after, look
from whysync.history.history import History, IncidentFilter
from whysync.history.model import EventKind, NewDelivery, Notice


@pytest.fixture
def history() -> Iterator[History]:
    history = History.open(":memory:")
    history.record([look(OOM)])
    yield history
    history.close()


def _routed(history: History, *channels: str) -> Notice:
    [notice] = history.outbox.unrouted()
    deliveries = [NewDelivery(channel=channel, due_at=after(0)) for channel in channels]
    history.outbox.route(notice, deliveries, after(0))
    return notice


def test_a_notice_is_routed_once(history: History) -> None:
    notice = _routed(history, "slack", "alertmanager")
    assert history.outbox.unrouted() == ()
    history.outbox.route(notice, [NewDelivery(channel="webhook", due_at=after(0))], after(1))
    assert [d.channel for d in history.outbox.claim(after(1))] == ["slack", "alertmanager"]


def test_a_claimed_delivery_is_not_given_to_another_sender_until_the_claim_expires(history: History) -> None:
    _routed(history, "slack")
    [first] = history.outbox.claim(after(0), claim=timedelta(minutes=2))
    assert history.outbox.claim(after(1)) == ()
    [second] = history.outbox.claim(after(2))
    assert (second.key, second.attempts) == (first.key, 2)


def test_a_confirmed_delivery_is_not_sent_again_and_is_in_the_timeline(history: History) -> None:
    _routed(history, "slack")
    [delivery] = history.outbox.claim(after(0))
    history.outbox.delivered(delivery, after(1))
    history.outbox.delivered(delivery, after(2))
    assert history.outbox.claim(after(60)) == ()
    assert history.outbox.waiting() == 0
    [incident] = history.incidents(IncidentFilter())
    notified = [e for e in history.timeline_of_incident(incident.id) if e.kind is EventKind.NOTIFIED]
    assert [(event.detail, event.at) for event in notified] == [("slack", after(1))]


def test_a_failed_delivery_is_due_again_later(history: History) -> None:
    _routed(history, "slack")
    [delivery] = history.outbox.claim(after(0))
    history.outbox.failed(delivery, "503", retry_at=after(5))
    assert history.outbox.claim(after(4)) == ()
    [again] = history.outbox.claim(after(5))
    history.outbox.give_up(again, "404", after(5))
    assert history.outbox.claim(after(60)) == ()


def test_a_delivery_waits_for_the_end_of_quiet_hours(history: History) -> None:
    [notice] = history.outbox.unrouted()
    history.outbox.route(notice, [NewDelivery(channel="slack", due_at=after(90))], after(0))
    assert history.outbox.claim(after(89)) == ()
    assert len(history.outbox.claim(after(90))) == 1
