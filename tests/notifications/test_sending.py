"""From an incident to a request on the wire: formats, once per event, retries, quiet hours, routes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.history.looks import NOON, OOM, WEBHOOK_DOWN, after, look
from tests.notifications.receiver import Received, Receiver, receiver
from whysync.history.history import History
from whysync.history.model import AppKey, Problem
from whysync.json_tree import fields, items, text
from whysync.notifications.channels import Request
from whysync.notifications.check_config import check_text
from whysync.notifications.config import Config
from whysync.notifications.message import shown_name
from whysync.notifications.secrets import SecretText
from whysync.notifications.sender import (
    GIVE_UP_AFTER,
    HttpTransport,
    Response,
    Sender,
    Undeliverable,
    pause_after,
)

SECRET_PATH = "/services/T000/B000/s3cr3tpath"
TOKEN = "s3cr3t-token-of-the-channel"


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def history() -> Iterator[History]:
    opened = History.open(":memory:")
    yield opened
    opened.close()


def config(channel: str, route: str = "", **environ: str) -> tuple[Config, dict[str, str]]:
    """One channel `it` and one route to it; secrets come from the environment."""
    yaml = f"""
version: 1
link: https://whysync.example.com/
notifications:
  channels:
  - name: it
    {channel}
  routes:
  - channels: [it]
    {route}
"""
    checked = check_text(yaml, environ)
    assert checked.config is not None, checked.mistakes
    return checked.config, environ


def webhook(server: Receiver, route: str = "") -> tuple[Config, dict[str, str]]:
    return config(
        "webhook: {urlFrom: {env: URL}, tokenFrom: {env: TOKEN}}", route, URL=f"{server.url}/x", TOKEN=TOKEN
    )


def sender(history: History, configured: tuple[Config, dict[str, str]]) -> Sender:
    settings, environ = configured
    return Sender(history, settings, environ=environ)


def events(server: Receiver) -> list[object]:
    return [fields(request.body)["event"] for request in server.received]


class TestOncePerEvent:
    def test_opening_change_of_cause_and_closing_are_sent_once_each(
        self, history: History, server: Receiver
    ) -> None:
        sending = sender(history, webhook(server))
        history.record([look(OOM)])
        assert sending.work(after(1)) == 1
        assert sending.work(after(2)) == 0
        history.record([look(OOM, minutes=3)])
        assert sending.work(after(3)) == 0
        history.record([look(WEBHOOK_DOWN, minutes=4)])
        assert sending.work(after(4)) == 1
        history.record([look(minutes=5)])
        history.settle(after(60))
        assert sending.work(after(60)) == 1
        assert sending.work(after(61)) == 0
        assert events(server) == ["opened", "cause-changed", "closed"]
        assert history.outbox.waiting() == 0

    def test_an_outbreak_is_sent_once(self, history: History, server: Receiver) -> None:
        history.record([look(WEBHOOK_DOWN, app=f"app-{n}") for n in range(31)])
        assert sender(history, webhook(server)).work(after(1)) == 1
        (request,) = server.received
        body = fields(request.body)
        assert body["what"] == "31 apps are broken: webhook-down (critical)"
        assert body["why"] == "webhook policy.example.com does not answer"

    def test_a_restart_sends_nothing_twice(self, history: History, server: Receiver) -> None:
        history.record([look(OOM)])
        assert sender(history, webhook(server)).work(after(1)) == 1
        assert sender(history, webhook(server)).work(after(2)) == 0
        assert len(server.received) == 1

    def test_a_process_that_dies_before_it_confirms_sends_the_same_key_again(
        self, history: History, server: Receiver
    ) -> None:
        history.record([look(OOM)])
        settings, environ = webhook(server)
        real = HttpTransport()

        def killed_after_sending(request: Request) -> Response:
            real(request)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Sender(history, settings, send=killed_after_sending, environ=environ).work(after(1))
        assert sender(history, webhook(server)).work(after(1)) == 0  # still claimed
        assert sender(history, webhook(server)).work(after(10)) == 1
        keys = {request.headers["Idempotency-Key"] for request in server.received}
        assert len(server.received) == 2
        assert len(keys) == 1


class TestFormats:
    def test_webhook(self, history: History, server: Receiver) -> None:
        history.record([look(OOM)])
        sender(history, webhook(server)).work(after(1))
        (request,) = server.received
        assert request.path == "/x"
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        assert request.headers["Content-Type"] == "application/json"
        body = fields(request.body)
        assert body["version"] == 1
        assert (body["what"], body["why"], body["fix"]) == (
            "shop is broken: oom (warning)",
            "container api is OOMKilled",
            "raise the memory limit",
        )
        incident = fields(body["incident"])
        assert body["link"] == f"https://whysync.example.com/incidents/{incident['id']}"
        assert incident["app"] == {"instance": "", "namespace": "argocd", "name": "shop"}
        assert incident["openedAt"] == "2026-03-01T12:00:00.000Z"
        assert body["key"] == request.headers["Idempotency-Key"]

    def test_slack(self, history: History, server: Receiver) -> None:
        evil = Problem(
            cause="oom", verdict="<!channel> *bold* <https://evil.example|click> & more", fix="do it"
        )
        history.record([look(evil)])
        sender(history, config("slack: {urlFrom: {env: URL}}", URL=server.url + SECRET_PATH)).work(after(1))
        (request,) = server.received
        assert request.path == SECRET_PATH
        body = fields(request.body)
        assert body["text"] == "shop is broken: oom (warning)"
        header, section, context = map(fields, items(body["blocks"]))
        assert fields(header["text"]) == {"type": "plain_text", "emoji": False, "text": body["text"]}
        shown = fields(section["text"])
        assert shown["type"] == "plain_text"
        assert shown["text"] == (
            "why: &lt;!channel&gt; *bold* &lt;https://evil.example|click&gt; &amp; more\nfix: do it"
        )
        (link,) = items(context["elements"])
        assert text(fields(link)["text"]).startswith("<https://whysync.example.com/incidents/")

    def test_long_values_stay_within_the_limits_of_slack(self, history: History, server: Receiver) -> None:
        history.record(
            [look(Problem(cause="c" * 500, verdict="v" * 9_000, root="r" * 9_000, fix="f" * 9_000))]
        )
        sender(history, config("slack: {urlFrom: {env: URL}}", URL=server.url)).work(after(1))
        header, section, _ = map(fields, items(fields(server.received[0].body)["blocks"]))
        assert len(text(fields(header["text"])["text"])) <= 150
        assert len(text(fields(section["text"])["text"])) <= 3_000

    def test_alertmanager(self, history: History, server: Receiver) -> None:
        channel = f"alertmanager: {{url: '{server.url}/am/', labels: {{team: platform}}}}"
        sending = sender(history, config(channel))
        history.record([look(OOM)])
        sending.work(after(1))
        history.record([look(WEBHOOK_DOWN, minutes=4)])
        sending.work(after(5))
        history.record([look(minutes=6)])
        history.settle(after(60))
        sending.work(after(60))
        assert {request.path for request in server.received} == {"/am/api/v2/alerts"}
        opened, changed, closed = (list(map(fields, items(request.body))) for request in server.received)
        assert opened[0]["labels"] == {
            "team": "platform",
            "alertname": "ArgoAppBroken",
            "cause": "oom",
            "severity": "warning",
            "namespace": "argocd",
            "name": "shop",
            "project": "store",
        }
        assert opened[0]["startsAt"] == "2026-03-01T12:00:00.000Z"
        assert opened[0]["endsAt"] == "2026-03-08T12:00:00.000Z"
        assert [fields(alert["labels"])["cause"] for alert in changed] == ["webhook-down", "oom"]
        assert changed[1]["labels"] == opened[0]["labels"], "the alert that began is the one that ends"
        assert changed[1]["endsAt"] == "2026-03-01T12:04:00.000Z"
        (end,) = closed
        assert end["labels"] == changed[0]["labels"]
        assert text(end["endsAt"]) < "2026-03-01T13:00:01"

    def test_the_alert_of_an_outbreak_ends_whoever_recovers_last(
        self, history: History, server: Receiver
    ) -> None:
        sending = sender(history, config(f"alertmanager: {{url: '{server.url}'}}"))
        history.record([look(WEBHOOK_DOWN, app=name) for name in ("a", "b")])
        sending.work(after(1))
        for minutes, name in ((10, "a"), (30, "b")):
            history.record([look(app=name, minutes=minutes)])
            history.settle(after(minutes + 10))
        sending.work(after(60))
        opened, closed = (fields(items(request.body)[0]) for request in server.received)
        assert opened["labels"] == closed["labels"]

    def test_hostile_values_are_one_line_without_control_characters(
        self, history: History, server: Receiver
    ) -> None:
        evil = Problem(cause="oom", verdict="a\nfix: forged\x1b[2J\u202e", fix="b\r\nc", root="d\x00")
        history.record([look(evil)])
        sender(history, webhook(server)).work(after(1))
        body = fields(server.received[0].body)
        for field in ("what", "why", "fix"):
            assert text(body[field]).isprintable()


class TestRetries:
    def test_a_receiver_that_is_away_is_tried_again_with_growing_pauses(
        self, history: History, server: Receiver
    ) -> None:
        server.answers = [(500, {}), (503, {}), (429, {"Retry-After": "600"})]
        sending = sender(history, webhook(server))
        history.record([look(OOM)])
        now = NOON
        while history.outbox.waiting():
            sending.work(now)
            now += timedelta(seconds=1)
            assert now < after(60)
        assert [fields(request.body)["event"] for request in server.received] == ["opened"] * 4
        assert now - NOON > timedelta(seconds=600 + 5 + 10)
        assert len({request.headers["Idempotency-Key"] for request in server.received}) == 1

    @pytest.mark.parametrize("status", [400, 422, 413])
    def test_a_message_that_is_refused_is_not_sent_again(
        self, history: History, server: Receiver, status: int
    ) -> None:
        server.answers = [(status, {})]
        sending = sender(history, webhook(server))
        history.record([look(OOM)])
        for minutes in range(1, 50):
            sending.work(after(minutes))
        assert len(server.received) == 1

    @pytest.mark.parametrize("status", [301, 302, 401, 403, 404, 408])
    def test_a_wrong_address_or_token_is_tried_again(
        self, history: History, server: Receiver, status: int
    ) -> None:
        """Somebody can correct it; a redirect is not followed, because it would get the token."""
        server.answers = [(status, {"Location": "http://evil.example/"})]
        sending = sender(history, webhook(server))
        history.record([look(OOM)])
        sending.work(after(1))
        assert sending.work(after(10)) == 1
        assert len(server.received) == 2

    def test_it_gives_up_in_the_end(self, history: History) -> None:
        def away(_request: Request) -> Response:
            raise Undeliverable("ConnectError")

        settings, environ = config("webhook: {url: 'http://127.0.0.1:9/'}")
        sending = Sender(history, settings, send=away, environ=environ)
        history.record([look(OOM)])
        now = NOON
        while history.outbox.waiting():
            sending.work(now)
            now += timedelta(minutes=20)
            assert now < NOON + 2 * GIVE_UP_AFTER
        assert now > NOON + GIVE_UP_AFTER

    def test_a_closed_port_is_an_error_without_the_url(self) -> None:
        url = "http://127.0.0.1:9/s3cr3tpath"
        with pytest.raises(Undeliverable) as caught:
            HttpTransport()(
                Request(url=SecretText(url), headers={"Authorization": f"Bearer {TOKEN}"}, body=b"{}")
            )
        assert "s3cr3t" not in f"{caught.value!r} {caught.value.__cause__!r}"

    @pytest.mark.parametrize(
        ("attempts", "retry_after", "seconds"),
        [
            (1, "", 5),
            (2, "", 10),
            (3, "", 20),
            (99, "", 1800),
            (1, "90", 90),
            (1, "x", 5),
            (1, "9" * 8, 86400),
        ],
    )
    def test_pauses(self, attempts: int, retry_after: str, seconds: int) -> None:
        assert pause_after(attempts, retry_after, NOON) == timedelta(seconds=seconds)

    def test_a_date_in_retry_after(self) -> None:
        assert pause_after(1, "Sun, 01 Mar 2026 12:10:00 GMT", NOON) == timedelta(minutes=10)

    def test_a_missing_secret_delays_and_is_not_logged(
        self, history: History, server: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = tmp_path / "url"
        file.write_text(f"{server.url}{SECRET_PATH}\n")
        configured = config(f"slack: {{urlFrom: {{file: '{file}'}}}}")
        sending = sender(history, configured)
        file.unlink()
        history.record([look(OOM)])
        caplog.set_level(logging.DEBUG)
        assert sending.work(after(1)) == 0
        file.write_text(f"{server.url}{SECRET_PATH}\n")
        server.answers = [(500, {})]
        assert sending.work(after(2)) == 0
        assert sending.work(after(10)) == 1
        assert "s3cr3t" not in caplog.text


class TestRoutes:
    @pytest.mark.parametrize(
        ("match", "sent"),
        [
            ("{}", True),
            ("{project: [store]}", True),
            ("{project: ['st*']}", True),
            ("{project: [other]}", False),
            ("{severity: [critical]}", False),
            ("{severity: [warning, critical]}", True),
            ("{cause: [oom]}", True),
            ("{cause: ['repo-*']}", False),
            ("{labels: {team: checkout}}", True),
            ("{labels: {team: 'check*'}}", True),
            ("{labels: {team: checkout, tier: web}}", False),
            ("{project: [store], severity: [critical]}", False),
        ],
    )
    def test_by_project_label_severity_and_cause(
        self, history: History, server: Receiver, match: str, sent: bool
    ) -> None:
        history.record([look(OOM)])
        assert sender(history, webhook(server, f"match: {match}")).work(after(1)) == int(sent)
        assert history.outbox.waiting() == 0

    def test_events(self, history: History, server: Receiver) -> None:
        sending = sender(history, webhook(server, "events: [closed]"))
        history.record([look(OOM)])
        sending.work(after(1))
        history.record([look(minutes=2)])
        history.settle(after(60))
        sending.work(after(60))
        assert events(server) == ["closed"]

    def test_the_first_match_decides_unless_it_continues(self, history: History, server: Receiver) -> None:
        yaml = """
version: 1
notifications:
  channels:
  - {name: a, webhook: {url: URL/a}}
  - {name: b, webhook: {url: URL/b}}
  - {name: c, webhook: {url: URL/c}}
  routes:
  - {channels: [a], continue: true}
  - {channels: [a, b], match: {cause: [oom]}}
  - {channels: [c]}
""".replace("URL", server.url)
        settings = check_text(yaml, {}).config
        assert settings is not None
        history.record([look(OOM)])
        assert Sender(history, settings).work(after(1)) == 2
        assert sorted(request.path for request in server.received) == ["/a", "/b"]


class TestOutbreaksOfSeveralTeams:
    CONFIG = """
version: 1
notifications:
  channels:
  - {name: a, webhook: {url: URL/a}}
  - {name: b, webhook: {url: URL/b}}
  routes:
  - {channels: [a], match: {project: [store]}}
  - {channels: [b], match: {project: [bank]}}
"""

    def test_each_team_is_told_once_also_if_its_app_joins_later(
        self, history: History, server: Receiver
    ) -> None:
        settings = check_text(self.CONFIG.replace("URL", server.url), {}).config
        assert settings is not None
        sending = Sender(history, settings)
        history.record([look(WEBHOOK_DOWN, app="one"), look(WEBHOOK_DOWN, app="two")])
        assert sending.work(after(1)) == 1
        bank = msgspec.structs.replace(look(WEBHOOK_DOWN, app="three", minutes=5), project="bank")
        history.record([bank])
        assert sending.work(after(6)) == 1
        assert sending.work(after(7)) == 0
        assert Sender(history, settings).work(after(8)) == 0  # a restart
        history.record([look(app=name, minutes=20) for name in ("one", "two")])
        history.record([msgspec.structs.replace(look(app="three", minutes=20), project="bank")])
        history.settle(after(60))
        assert sending.work(after(60)) == 2
        told = [(request.path, fields(request.body)["event"]) for request in server.received]
        assert told == [("/a", "opened"), ("/b", "opened"), ("/a", "closed"), ("/b", "closed")]
        assert fields(server.received[1].body)["what"] == "3 apps are broken: webhook-down (critical)"


class TestQuietHours:
    QUIET = "quietHours: {from: '22:00', to: '07:00', timezone: Europe/Berlin}"

    def hours(self, history: History, server: Receiver, problem: Problem, *hours: float) -> list[Received]:
        """Break the app at the first hour after noon UTC, then send at each of the other hours."""
        sending = sender(history, webhook(server, self.QUIET))
        first, *rest = hours
        history.record([look(problem, minutes=60 * first)])
        for hour in rest:
            sending.work(after(60 * hour))
        return server.received

    def test_in_the_day_it_is_sent_at_once(self, history: History, server: Receiver) -> None:
        assert len(self.hours(history, server, OOM, 1, 1)) == 1

    def test_at_night_it_is_sent_in_the_morning(self, history: History, server: Receiver) -> None:
        assert self.hours(history, server, OOM, 10, 10, 12, 17.9) == []
        assert len(self.hours(history, server, OOM, 10, 18.1)) == 1

    def test_what_is_critical_is_sent_at_night(self, history: History, server: Receiver) -> None:
        assert len(self.hours(history, server, WEBHOOK_DOWN, 12, 12)) == 1

    def test_what_is_over_in_the_morning_is_not_sent(self, history: History, server: Receiver) -> None:
        sending = sender(history, webhook(server, self.QUIET))
        history.record([look(OOM, minutes=600)])
        sending.work(after(600))
        history.record([look(minutes=660)])
        history.settle(after(700))
        for hours in (12, 18.1, 30):
            sending.work(after(60 * hours))
        assert server.received == []
        assert history.outbox.waiting() == 0

    def test_only_on_some_days(self, history: History, server: Receiver) -> None:
        """1 March 2026 is a Sunday, whose night ends on Monday morning."""
        route = "quietHours: {from: '22:00', to: '07:00', timezone: UTC, days: [sat]}"
        history.record([look(OOM, minutes=60 * 11)])
        assert sender(history, webhook(server, route)).work(after(60 * 11)) == 1


def test_a_channel_that_was_removed_is_given_up(history: History, server: Receiver) -> None:
    settings, environ = webhook(server)
    history.record([look(OOM)])

    def away(_request: Request) -> Response:
        raise Undeliverable("ConnectError")

    Sender(history, settings, send=away, environ=environ).work(after(1))
    other = check_text("version: 1", {}).config
    assert other is not None
    Sender(history, other).work(after(30))
    assert history.outbox.waiting() == 0


@pytest.mark.parametrize(
    ("app", "shown"),
    [
        (AppKey("", "argocd", "shop"), "shop"),
        (AppKey("argocd", "openshift-gitops", "shop"), "shop"),
        (AppKey("argocd", "team-a", "shop"), "team-a/shop"),
        (AppKey("prod-eu", "argocd", "shop"), "prod-eu/shop"),
    ],
)
def test_usual_namespaces_are_left_out_of_a_name(app: AppKey, shown: str) -> None:
    assert shown_name(app) == shown


def test_secrets_are_hidden_in_a_repr() -> None:
    request = Request(url=SecretText("https://hooks.example.com/s3cr3t"), headers={}, body=b"")
    assert "s3cr3t" not in repr(request)
