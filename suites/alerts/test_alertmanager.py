"""Notifications in a real Alertmanager: an alert begins, changes its cause, and ends."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import msgspec
import pytest

from suites.alerts.alertmanager import alertmanager, find_or_build
from tests.history.looks import OOM, WEBHOOK_DOWN, look
from tools.real_cluster.binaries import NotAvailable
from whysync.history.history import History
from whysync.history.model import Look, Problem
from whysync.json_tree import Object, fields, items, text
from whysync.notifications.check_config import check_text
from whysync.notifications.sender import Sender

START = datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    try:
        program = find_or_build(print)
    except NotAvailable as problem:
        pytest.fail(str(problem))
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    with alertmanager(program, folder) as address:
        yield address


def sender(url: str, history: History) -> Sender:
    config = check_text(
        f"""
version: 1
link: https://whysync.example.com
notifications:
  channels: [{{name: am, alertmanager: {{url: '{url}', labels: {{team: platform}}}}}}]
  routes: [{{channels: [am]}}]
""",
        {},
    ).config
    assert config is not None
    return Sender(history, config)


def at(minutes: float, problem: Problem | None, app: str) -> Look:
    """A look in the last hour: Alertmanager has its own clock."""
    return msgspec.structs.replace(look(problem, app=app), at=START + timedelta(minutes=minutes))


def active(url: str, app: str) -> list[Object]:
    """The alerts of an app that Alertmanager shows as active."""
    answer = httpx2.get(f"{url}/api/v2/alerts", params={"active": "true", "filter": f'name="{app}"'})
    assert answer.status_code == 200
    return [fields(alert) for alert in items(msgspec.json.decode(answer.content))]


def test_an_incident_from_its_beginning_to_its_end(url: str) -> None:
    history = History.open(":memory:")
    sending = sender(url, history)
    history.record([at(0, OOM, "shop")])
    assert sending.work(START + timedelta(minutes=1)) == 1
    (alert,) = active(url, "shop")
    labels = fields(alert["labels"])
    assert (labels["alertname"], labels["cause"], labels["team"]) == ("ArgoAppBroken", "oom", "platform")
    assert fields(alert["annotations"])["summary"] == "shop is broken: oom (warning)"
    assert text(alert["generatorURL"]).startswith("https://whysync.example.com/incidents/")

    history.record([at(5, WEBHOOK_DOWN, "shop")])
    assert sending.work(START + timedelta(minutes=6)) == 1
    (alert,) = active(url, "shop")
    assert fields(alert["labels"])["cause"] == "webhook-down"

    history.record([at(10, None, "shop")])
    history.settle(START + timedelta(minutes=30))
    assert sending.work(START + timedelta(minutes=30)) == 1
    assert active(url, "shop") == []


def test_a_copy_of_a_message_is_one_alert(url: str) -> None:
    for _ in range(2):
        history = History.open(":memory:")
        history.record([at(0, OOM, "copied")])
        assert sender(url, history).work(START + timedelta(minutes=1)) == 1
    assert len(active(url, "copied")) == 1
