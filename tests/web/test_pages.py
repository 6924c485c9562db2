"""The pages: what they show, filters, links, and that values of a cluster never become markup."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.history.looks import WEBHOOK_DOWN, look
from tests.situations import ROOT
from tests.web.sites import NOW, get, site_of, text_of
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api import yaml
from whysync.watch.fleet import SourceHealth
from whysync.web.page import app_url
from whysync.web.site import Site


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = site_of()
    yield site
    site.history.close()


class _Links(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (of HTMLParser)
        values = dict(attrs)
        for name in ("href", "src", "action"):
            if values.get(name):
                self.targets.append(values[name] or "")
        if values.get("id"):
            self.ids.append(values["id"] or "")


def _pages(site: Site) -> Iterator[str]:
    yield from ("/", "/?state=all", "/incidents", "/incidents?open=true", "/incidents/1", "/sources")
    for state in site.fleet.apps():
        yield app_url(state.key)
        yield f"{app_url(state.key)}/objects"


def test_every_link_leads_to_a_page_of_this_site(site: Site) -> None:
    targets = {target for page in _pages(site) for target in _Links(text_of(site, page)).targets}
    assert len(targets) > 20
    for target in targets:
        assert target.startswith(("/", "#")), target
        if target.startswith("/"):
            assert get(site, target).status == 200, target


def test_ids_are_unique_and_there_is_no_inline_script_or_style(site: Site) -> None:
    for path in _pages(site):
        page = text_of(site, path)
        ids = _Links(page).ids
        assert len(ids) == len(set(ids)), path
        keys = re.findall(r'data-key="([^"]*)"', page)
        assert len(keys) == len(set(keys)), "an update would open and close the wrong part"
        assert "<style" not in page
        assert not re.search(r"\son[a-z]+=|\sstyle=", page), path
        assert re.findall(r"<script[^>]*></script>", page) == re.findall(r"<script.*?</script>", page)


def test_the_fleet_groups_broken_apps_by_cause(site: Site) -> None:
    page = text_of(site, "/")
    assert "3 apps need attention" in page
    assert 'data-cause="controller-owned"' in page
    assert "connection refused" in page


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("q=autoscaler", 1),
        ("q=AUTOSCALER+replicas", 1),
        ("q=nothing-has-this", 0),
        ("cause=controller-owned", 1),
        ("sync=OutOfSync", 2),
        ("sync=Synced", 1),
        ("health=Healthy&sync=Synced", 1),
        ("project=missing", 0),
        ("severity=critical", 1),
        ("instance=autoscaler-loop", 1),
        ("label=team%3Dnobody", 0),
    ],
)
def test_filters(site: Site, query: str, number: int) -> None:
    assert text_of(site, f"/?{query}").count("data-app=") == number
    assert text_of(site, f"/api/v1/apps?{query}").count('"verdict"') == number


def test_an_app_page_has_the_answer_first_and_every_part(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "controller-owned"]
    page = text_of(site, app_url(state.key))
    order = ['class="headline"', "Sync now?", 'id="why"', 'id="fixes"', 'id="diff"', 'id="timeline"']
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert "/spec/replicas" in page
    assert 'class="copy"' in page
    assert "After a sync" in page
    assert "Live value written by" in page


def test_the_parts_of_an_app_page_have_addresses_and_the_answer_names_the_first_fix(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "hook-failed"]
    page = text_of(site, app_url(state.key))
    found = _Links(page)
    contents = page[page.index('class="contents"') : page.index('class="app-parts"')]
    targets = {target for target in found.targets if target.startswith("#")}
    assert {"#why", "#fixes", "#diff", "#sync", "#timeline", "#fix-1"} <= targets
    assert {target[1:] for target in targets} <= {*found.ids, "main"}
    assert contents.count("<li>") == page.count('<section class="panel"')
    answer = page[page.index('class="answer') : page.index('class="contents"')]
    assert 'href="#fix-1"' in answer


def test_the_picture_of_a_sync_shows_phases_waves_and_how_far_it_came(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "hook-failed"]
    page = text_of(site, app_url(state.key))
    picture = page[page.index('id="sync"') : page.index('id="timeline"')]
    assert "0 of 2 done · 1 failed · 1 not reached" in picture
    assert picture.index("<h3>PreSync hooks</h3>") < picture.index("<h3>Sync</h3>")
    assert re.search(r"wave bad.*?<b>wave -1</b>.*?0/1.*?\(failed\)", picture, re.DOTALL)


def _picture(site: Site, name: str) -> str:
    [state] = [state for state in site.fleet.apps() if state.key.name == name]
    page = text_of(site, app_url(state.key))
    return page[page.index('id="sync"') : page.index('id="timeline"')]


def test_resources_outside_a_selective_sync_are_not_called_unreached(site: Site, tmp_path: Path) -> None:
    assert "not reported" in _picture(site, "my-api-service"), "the operation has no results"
    application = yaml.load((ROOT / "examples/autoscaler-loop/applications/my-api-service.yaml").read_text())
    result: Object = {"version": "v1", "kind": "Service", "namespace": "production", "name": "my-api-service"}
    results: list[Json] = [{**result, "status": "Synced", "syncPhase": "Sync"}]
    shutil.copytree(ROOT / "examples/autoscaler-loop", tmp_path / "loop")
    fields(fields(fields(application)["status"])["operationState"])["syncResult"] = {"resources": results}
    (tmp_path / "loop/applications/my-api-service.yaml").write_text(yaml.dump(application))
    selective = site_of(str(tmp_path / "loop"))
    picture = _picture(selective, "my-api-service")
    assert "1 of 2 done · 1 not part of it" in picture
    assert "not reached" not in picture
    selective.history.close()


def test_an_app_whose_status_has_no_time_is_as_old_as_its_incident(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "controller-owned"]
    assert state.since is None
    assert "broken since it was seen" in text_of(site, app_url(state.key))
    row = text_of(site, "/?cause=controller-owned")
    assert f'title="first seen {NOW:%Y-%m-%d %H:%M:%S} UTC"' in row


def test_without_simulation_no_page_waits_for_one() -> None:
    site = site_of(proves=False)
    for state in site.fleet.apps():
        assert "being simulated" not in text_of(site, app_url(state.key))
    site.history.close()
    waiting = site_of()
    pages = [text_of(waiting, app_url(state.key)) for state in waiting.fleet.apps()]
    assert all("being simulated" in page for page in pages)
    waiting.history.close()


def test_apps_of_one_outbreak_are_one_row_of_the_incidents() -> None:
    site = site_of()
    looks = [look(WEBHOOK_DOWN, app=f"app-{number}") for number in range(7)]
    site.history.record(looks)
    page = text_of(site, "/incidents")
    assert page.count("<tr") == 1 + 1 + 3, "head, outbreak, apps of the examples"
    assert "<b>7 apps</b>" in page
    assert "and 2 more" in page
    [outbreak] = [outbreak for outbreak in site.history.open_outbreaks() if outbreak.open_apps == 7]
    assert text_of(site, f"/incidents?outbreak={outbreak.id}").count("<tr") == 1 + 7
    site.history.close()


def test_evidence_links_to_the_object_it_cites(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "controller-owned"]
    page = text_of(site, app_url(state.key))
    links = [target for target in _Links(page).targets if "/objects?" in target]
    assert links
    assert any("kind: HorizontalPodAutoscaler" in text_of(site, link) for link in links)


def test_what_does_not_exist_is_a_404_page(site: Site) -> None:
    for path in ("/nothing", "/apps/argocd/argocd/nothing", "/incidents/999", "/incidents/x", "/static/../x"):
        assert get(site, path).status == 404
    assert get(site, "/api/v1/nothing").content_type == "application/json"


def test_a_change_while_a_page_is_built_comes_after_the_number_on_the_page(site: Site) -> None:
    [state] = [state for state in site.fleet.apps() if state.row.cause == "controller-owned"]
    pages = {"/?q=changing", app_url(state.key), "/incidents?app=changing", "/sources"}
    incident = site.history.open_incident(state.key)
    assert incident is not None
    for path in pages:
        before = site.fleet.last_change
        sources = site.fleet.sources

        def changing(sources: Callable[[], tuple[SourceHealth, ...]] = sources) -> tuple[SourceHealth, ...]:
            site.fleet.changed_incidents([incident])  # the header is built last
            return sources()

        site.fleet.sources = changing
        try:
            page = text_of(site, path)
        finally:
            site.fleet.sources = sources
        assert site.fleet.last_change > before
        assert f'<body data-change="{before}">' in page, path


def test_the_sources_page_tells_what_fails_and_when_it_is_tried_again() -> None:
    site = site_of()
    page = text_of(site, "/sources")
    assert "All sources are read" in page
    assert '<a href="/?instance=autoscaler-loop&amp;state=all">1</a>' in page
    later = NOW + timedelta(seconds=40)
    away = SourceHealth(
        name="prod", description="Argo CD at prod", problem="it is away", failing_since=NOW, retry_at=later
    )
    site.fleet.put_source(away)
    site.fleet.database_problem = "the disk is full"
    page = text_of(site, "/sources")
    for text in ("1 of 4 sources not read", "it is away", "in 40 s", "the disk is full", "open incidents"):
        assert text in page, text
    site.history.close()


HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'&</textarea>\u202e\x1b[31m"


def hostile_application(name: str) -> Object:
    """An Application of this name in which every other free text is hostile."""
    ref: Object = {"name": HOSTILE, "namespace": HOSTILE}
    row: Object = {"kind": HOSTILE, **ref, "status": HOSTILE}
    result: Object = {"kind": HOSTILE, **ref, "status": "SyncFailed", "message": HOSTILE}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": HOSTILE,
            "labels": {HOSTILE: HOSTILE},
            "annotations": {HOSTILE: HOSTILE},
        },
        "spec": {
            "project": HOSTILE,
            "source": {"repoURL": HOSTILE, "path": HOSTILE, "targetRevision": HOSTILE},
            "destination": {"name": HOSTILE, "namespace": HOSTILE},
        },
        "status": {
            "sync": {"status": HOSTILE, "revision": HOSTILE},
            "health": {"status": HOSTILE, "message": HOSTILE},
            "conditions": [{"type": HOSTILE, "message": HOSTILE}],
            "operationState": {
                "phase": HOSTILE,
                "message": HOSTILE,
                "syncResult": {"revision": HOSTILE, "resources": [result]},
            },
            "resources": [{**row, "health": {"status": "Degraded", "message": HOSTILE}}],
        },
    }


def test_hostile_values_in_every_field_are_only_text(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(yaml.dump(hostile_application(HOSTILE)))
    site = site_of(str(tmp_path))
    [state] = site.fleet.apps()
    app = app_url(state.key)
    for path in ("/", "/?state=all", app, f"{app}/objects", "/incidents", "/incidents/1"):
        page = text_of(site, path)
        assert "<script>" not in page
        assert "<img" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
    assert "&lt;script&gt;" in text_of(site, "/")
    site.history.close()
