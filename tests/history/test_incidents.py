"""Incidents open, flap, change their cause and close; outbreaks collect those with one cause."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec import convert
from msgspec.structs import replace

from tests.history.looks import OOM, SHOP, WEBHOOK_DOWN, after, look
from whysync.history.history import History, IncidentFilter
from whysync.history.model import AppKey, EventKind, LastSync, NoticeKind, Retention

_ALL = IncidentFilter()


@pytest.fixture
def history() -> Iterator[History]:
    history = History.open(":memory:")
    yield history
    history.close()


def _notices(history: History) -> list[tuple[NoticeKind, str]]:
    return [(notice.kind, notice.key) for notice in history.outbox.unrouted()]


def test_a_healthy_app_has_no_incident(history: History) -> None:
    assert history.record([look()]) == ()
    assert history.incidents(_ALL) == ()


def test_an_incident_opens_at_the_first_broken_look_and_closes_at_the_first_healthy_one(
    history: History,
) -> None:
    history.record([look()])
    history.record([look(OOM, minutes=1)])
    history.record([look(OOM, minutes=2)])
    history.record([look(minutes=4)])
    history.settle(after(8))
    [incident] = history.incidents(_ALL)
    assert incident.is_open, "the flap window is not over"
    history.settle(after(9))
    [incident] = history.incidents(_ALL)
    assert (incident.opened_at, incident.closed_at) == (after(1), after(4))
    assert incident.duration(after(60)) == timedelta(minutes=3)
    assert [kind for kind, _ in _notices(history)] == [NoticeKind.OPENED, NoticeKind.CLOSED]


def test_an_app_that_breaks_again_within_the_window_continues_its_incident(history: History) -> None:
    for problem, minutes in ((OOM, 0), (None, 1), (OOM, 2), (None, 3), (OOM, 4)):
        history.record([look(problem, minutes=minutes)])
    [incident] = history.incidents(_ALL)
    assert incident.flaps == 2
    assert incident.is_open
    assert incident.recovered_at is None
    assert [kind for kind, _ in _notices(history)] == [NoticeKind.OPENED]
    assert history.unstable_apps(after(0)) == ((SHOP, 3),)


def test_an_app_that_breaks_after_the_window_has_a_new_incident(history: History) -> None:
    for problem, minutes in ((OOM, 0), (None, 1), (OOM, 10)):
        history.record([look(problem, minutes=minutes)])
    second, first = history.incidents(_ALL)
    assert first.closed_at == after(1)
    assert second.opened_at == after(10)


def test_a_running_sync_does_not_end_an_incident(history: History) -> None:
    history.record([look(OOM)])
    history.record([look(minutes=1, in_progress=True)])
    history.settle(after(60))
    [incident] = history.incidents(_ALL)
    assert incident.recovered_at is None


def test_a_changed_cause_is_reported_once(history: History) -> None:
    history.record([look(OOM)])
    history.record([look(WEBHOOK_DOWN, minutes=1)])
    history.record([look(WEBHOOK_DOWN, minutes=2)])
    [incident] = history.incidents(_ALL)
    assert (incident.first_cause, incident.problem.cause) == ("oom", "webhook-down")
    assert incident.cause_changes == 1
    assert _notices(history) == [
        (NoticeKind.OPENED, "outbreak-1/opened"),
        (NoticeKind.CAUSE_CHANGED, f"incident-{incident.id}/cause-1"),
    ]
    assert [outbreak.cause for outbreak in history.open_outbreaks()] == ["webhook-down"]


def test_another_wording_of_the_same_cause_is_not_a_change(history: History) -> None:
    history.record([look(OOM)])
    history.record([look(replace(OOM, verdict="container api is OOMKilled (4 times)"), minutes=1)])
    [incident] = history.incidents(_ALL)
    assert incident.problem.verdict.endswith("(4 times)")
    assert incident.cause_changes == 0


def test_apps_with_one_cause_are_one_outbreak_with_one_notice_each_way(history: History) -> None:
    apps = [f"app-{number}" for number in range(31)]
    history.record([look(WEBHOOK_DOWN, app=app) for app in apps])
    [outbreak] = history.open_outbreaks()
    assert (outbreak.open_apps, outbreak.severity) == (31, "critical")
    history.record([look(app=app, minutes=5) for app in apps])
    history.settle(after(30))
    assert history.open_outbreaks() == ()
    assert _notices(history) == [
        (NoticeKind.OPENED, "outbreak-1/opened"),
        (NoticeKind.CLOSED, "outbreak-1/closed"),
    ]


def test_the_apps_of_an_outbreak_that_change_their_cause_together_give_one_notice(history: History) -> None:
    apps = [f"app-{number}" for number in range(5)]
    history.record([look(WEBHOOK_DOWN, app=app) for app in apps])
    denied = replace(WEBHOOK_DOWN, cause="admission-denied", verdict="the policy denies it")
    for app in apps:
        history.record([look(denied, app=app, minutes=1)])
    assert [kind for kind, _ in _notices(history)] == [NoticeKind.OPENED, NoticeKind.CAUSE_CHANGED]
    assert [outbreak.cause for outbreak in history.open_outbreaks()] == ["admission-denied"]


def test_the_incident_of_a_deleted_app_is_closed(history: History) -> None:
    history.record([look(OOM)])
    history.forget([SHOP], after(5))
    [incident] = history.incidents(_ALL)
    assert incident.closed_at == after(5)
    kinds = [event.kind for event in history.timeline_of_incident(incident.id)]
    assert kinds == [EventKind.OPENED, EventKind.APP_DELETED, EventKind.CLOSED]


def test_the_timeline_has_syncs_commits_and_statuses(history: History) -> None:
    history.record([look(revision="aaa")])
    failed = LastSync(phase="Failed", started_at="2026-03-01T12:01:00Z", revision="bbb", message="no")
    running = LastSync(phase="Running", started_at="2026-03-01T12:01:00Z", revision="bbb")
    history.record([look(revision="bbb", last_sync=running, minutes=1, in_progress=True)])
    history.record([look(OOM, revision="bbb", last_sync=failed, minutes=2)])
    history.record([look(OOM, revision="bbb", last_sync=failed, minutes=3)])
    events = [(event.kind, event.detail) for event in reversed(history.timeline_of_app(SHOP))]
    assert events == [
        (EventKind.REVISION, "bbb"),
        (EventKind.SYNC, "Failed"),
        (EventKind.STATUS, "OutOfSync Degraded"),
        (EventKind.OPENED, ""),
    ]


def test_repeated_syncs_of_one_commit_are_a_loop(history: History) -> None:
    for minute in range(8):
        sync = LastSync(phase="Succeeded", started_at=f"2026-03-01T12:0{minute}:00Z", revision="aaa")
        history.record([look(last_sync=sync, minutes=minute)])
    assert history.frequent_syncs(after(0)) == ((SHOP, 7),)
    assert history.frequent_syncs(after(3)) == ()


def test_incidents_are_filtered_and_paged(history: History) -> None:
    history.record([look(OOM, app=f"app-{number}") for number in range(5)])
    history.record([look(WEBHOOK_DOWN, app="shop", minutes=1)])
    history.record([look(app="app-0", minutes=2)])
    history.settle(after(60))
    assert len(history.incidents(IncidentFilter(open=True))) == 5
    assert [i.app.name for i in history.incidents(IncidentFilter(open=False))] == ["app-0"]
    assert [i.app for i in history.incidents(IncidentFilter(cause="webhook-down"))] == [SHOP]
    assert [i.app for i in history.incidents(IncidentFilter(severity="critical"))] == [SHOP]
    first = history.incidents(IncidentFilter(limit=4))
    rest = history.incidents(IncidentFilter(limit=4, before=first[-1].id))
    assert len(first) + len(rest) == 6
    assert not {i.id for i in first} & {i.id for i in rest}


def test_retention_keeps_open_incidents_and_unsent_notices(history: History) -> None:
    history.record([look(OOM, app="fixed"), look(OOM, app="open")])
    history.record([look(app="fixed", minutes=1)])
    history.settle(after(10))
    for notice in history.outbox.unrouted()[:-1]:
        history.outbox.route(notice, (), after(11))
    short = Retention(incidents=timedelta(days=1), timeline=timedelta(days=1))
    history.purge(after(60 * 48), short)
    assert {i.app.name for i in history.incidents(_ALL)} == {"fixed", "open"}, "its closing was not sent"
    for notice in history.outbox.unrouted():
        history.outbox.route(notice, (), after(11))
    assert history.purge(after(60 * 48), short) == 1
    [incident] = history.incidents(_ALL)
    assert incident.app.name == "open"
    assert history.timeline_of_incident(incident.id)


def test_incidents_are_found_by_app_label_and_the_projects_of_a_viewer(history: History) -> None:
    checkout = replace(look(OOM, app="cart"), labels={"team": "checkout", "tier": "1"}, project="store")
    tricky = replace(look(OOM, app="odd"), labels={"note": '"team":"checkout"'}, project="other")
    history.record([checkout, tricky])

    def names(**wanted: object) -> list[str]:
        return [incident.app.name for incident in history.incidents(convert(wanted, IncidentFilter))]

    assert names(label="team=checkout") == ["cart"]
    assert names(label="team=Checkout") == []
    assert names(name="odd") == ["odd"]
    assert names(name="odd", namespace="elsewhere") == []
    assert names(projects=["store"]) == ["cart"]
    assert names(projects=[]) == []
    labels = [share[:2] for share in history.shares(IncidentFilter(), column="labels", now=after(1))]
    assert labels == [('note="team":"checkout"', 1), ("team=checkout", 1), ("tier=1", 1)]
    names_of_store = history.shares(IncidentFilter(project="store"), column="name", now=after(1))
    assert [share[:2] for share in names_of_store] == [("cart", 1)]


def test_numbers_and_durations_are_of_all_incidents(history: History) -> None:
    history.record([look(OOM, app=f"app-{number}") for number in range(20)])
    assert sum(number for *_, number in history.open_numbers()) == 20
    history.record([look(app=f"app-{number}", minutes=2) for number in range(15)])
    history.settle(after(30))
    assert sum(number for *_, number in history.open_numbers()) == 5
    assert history.open_since() == {AppKey("", "argocd", f"app-{n}"): after(0) for n in range(15, 20)}
    [share] = history.shares(IncidentFilter(), column="cause", now=after(30))
    assert share == ("oom", 20, timedelta(minutes=15 * 2 + 5 * 30))
