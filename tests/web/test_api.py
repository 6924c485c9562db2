"""The read API, the metrics and the stream of events."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, MutableMapping
from typing import Any

import jsonschema_rs
import pytest

from tests.history.looks import OOM, after, look
from tests.situations import ROOT
from tests.web.sites import NOW, get, site_of, text_of
from whysync.history.history import History
from whysync.watch.fleet import Fleet, SourceHealth
from whysync.watch.watcher import Recorder
from whysync.web.asgi import Application
from whysync.web.metrics import metrics
from whysync.web.page import app_url
from whysync.web.site import Site


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = site_of()
    yield site
    site.history.close()


def test_apps_are_listed_in_pages(site: Site) -> None:
    names: list[str] = []
    token = ""
    while True:
        page = json.loads(text_of(site, f"/api/v1/apps?limit=1&continue={token}"))
        names += [app["name"] for app in page["apps"]]
        assert page["total"] == 3
        token = page.get("continue", "")
        if not token:
            break
    assert names == [state.key.name for state in sorted(site.fleet.apps(), key=lambda state: state.key)]
    for bad in ("limit=0", "limit=x", "limit=-1", "continue=%25%25"):
        assert get(site, f"/api/v1/apps?{bad}").status == 400


def test_the_report_of_an_app_is_that_of_diagnose(site: Site) -> None:
    schema = json.loads((ROOT / "docs" / "report-v1.schema.json").read_text())
    for state in site.fleet.apps():
        report = json.loads(text_of(site, f"/api/v1{app_url(state.key)}"))
        jsonschema_rs.validate(schema, report)
        assert report["apps"][0]["name"] == state.key.name


def test_incidents_are_listed_and_have_a_timeline(site: Site) -> None:
    listed = json.loads(text_of(site, "/api/v1/incidents?open=true"))["incidents"]
    assert len(listed) == 3
    one = json.loads(text_of(site, f"/api/v1/incidents/{listed[0]['id']}"))
    assert [event["kind"] for event in one["timeline"]] == ["opened"]
    assert json.loads(text_of(site, "/api/v1/incidents?open=false"))["incidents"] == []
    assert len(json.loads(text_of(site, "/api/v1/incidents?limit=2"))["incidents"]) == 2


def test_openapi_names_every_route_that_answers(site: Site) -> None:
    paths = json.loads(text_of(site, "/api/v1/openapi.json"))["paths"]
    for path in paths:
        if "get" in paths[path] and "{" not in path and path != "/api/v1/events":
            assert get(site, path).status == 200, path


def test_metrics_are_well_formed_and_name_no_app(site: Site) -> None:
    text = text_of(site, "/metrics")
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert len(families) == len(set(families)) > 8
    for line in text.splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(r'whysync_[a-z_]+(\{([a-z]+="[^"]*",?)*\})? [0-9.e+-]+', line), line
    assert (
        'whysync_broken_apps{argocd="autoscaler-loop",cause="controller-owned",severity="warning"} 1' in text
    )
    for state in site.fleet.apps():
        assert state.key.name not in text


def test_metrics_keep_all_digits() -> None:
    fleet, history = Fleet(lambda: NOW), History.open(":memory:")
    fleet.put_source(SourceHealth(name="prod", description="", read_at=NOW, reads=12_345_678))
    text = metrics(fleet, history).body.decode()
    assert 'whysync_source_reads_total{source="prod"} 12345678\n' in text
    assert f'whysync_source_last_read_timestamp_seconds{{source="prod"}} {NOW.timestamp():.0f}\n' in text
    history.close()


def test_the_histogram_of_incidents_only_grows() -> None:
    fleet, history = Fleet(lambda: NOW), History.open(":memory:")
    recorder = Recorder(history, fleet)
    recorder.record([look(OOM, app=name) for name in ("shop", "cart")])
    recorder.record([look(app="shop", minutes=2), look(app="cart", minutes=20)])
    name = "whysync_incident_duration_seconds"
    assert f"{name}_count 0\n" in metrics(fleet, history).body.decode(), "they may break again"
    recorder.settle(after(60))
    recorder.settle(after(61))
    text = metrics(fleet, history).body.decode()
    lines = ['_bucket{le="60"} 0', '_bucket{le="300"} 1', '_bucket{le="3600"} 2', '_bucket{le="+Inf"} 2']
    for line in (*lines, "_sum 1320.0", "_count 2"):
        assert f"{name}{line}\n" in text, line
    history.close()


def test_ready_only_after_every_source_was_read(site: Site) -> None:
    assert get(site, "/readyz").status == 200
    site.fleet.put_source(SourceHealth(name="second", description="another Argo CD"))
    assert get(site, "/readyz").status == 503
    site.fleet.put_source(SourceHealth(name="second", description="another Argo CD", problem="it is away"))
    assert get(site, "/readyz").status == 200
    assert "has not been read" in text_of(site, "/")


async def _events(site: Site, change: str, **headers: str) -> str:
    """Open the stream, let the fleet change, and return what was sent until then."""
    sent: list[bytes] = []
    enough = asyncio.Event()

    async def receive() -> MutableMapping[str, Any]:
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            sent.append(message["body"])
            text = b"".join(sent).decode()
            if "event: hello" in text and "event: source" not in text:
                site.fleet.put_source(SourceHealth(name="third", description="x", problem=change))
            if "event: source" in text:
                enough.set()

    scope: MutableMapping[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/events",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *((k.encode(), v.encode()) for k, v in headers.items())],
        "client": ("127.0.0.1", 1),
    }
    await asyncio.wait_for(Application(site)(scope, receive, send), 30)
    return b"".join(sent).decode()


def test_viewers_get_changes_as_server_sent_events(site: Site) -> None:
    text = asyncio.run(_events(site, "away"))
    assert re.search(r"id: \d+\nevent: source\ndata: \{\}\n\n", text)


def test_a_viewer_that_reconnects_gets_what_it_missed(site: Site) -> None:
    text = asyncio.run(_events(site, "away again", **{"last-event-id": "0"}))
    assert "event: app" in text
    assert "event: incident" in text
