"""What Argo CD says about objects is decoded forgivingly: an ill-fitting part goes, the rest stays."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given

from tests.situations import application, row
from tests.trees import objects
from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.event import Event


def read(body: Object) -> tuple[Application, tuple[str, ...]]:
    app, problems = decode(body, Application)
    assert app is not None
    return app, problems


def test_a_whole_application() -> None:
    app, problems = read(application(status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}))
    assert problems == ()
    assert (app.qualified_name, app.project) == ("argocd/shop", "default")
    assert app.status.reconciled_at == datetime(2026, 3, 2, 3, 10, tzinfo=UTC)
    assert [str(resource.ref) for resource in app.status.resources] == ["ConfigMap shop/settings"]
    assert app.sources[0].target_revision == "main"


def test_go_writes_null_for_an_empty_list() -> None:
    body = application(status={"resources": None, "conditions": None, "history": [None]})
    fields(body["spec"])["syncPolicy"] = None
    fields(body["metadata"])["labels"] = None
    app, problems = read(body)
    assert problems == ()
    assert app.status.resources == ()
    assert app.metadata.labels == {}
    assert app.spec.sync_policy.automated is None


WRONG: list[tuple[str, Json]] = [
    ("resources", "none"),
    ("resources", [5, "x"]),
    ("conditions", {"type": "ComparisonError"}),
    ("reconciledAt", "yesterday"),
    ("reconciledAt", 5),
    ("operationState", []),
    ("operationState", {"phase": 5, "syncResult": {"resources": [{"name": []}]}}),
    ("history", [{"id": "x", "deployedAt": "never"}]),
    ("health", "Healthy"),
    ("sync", {"status": {"deep": [1]}}),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_field_of_the_wrong_type_is_left_out_and_reported(field: str, value: Json) -> None:
    body = application()
    fields(body["status"])[field] = value
    app, problems = read(body)
    assert app.name == "shop"
    assert problems
    assert all(field in problem for problem in problems)


def test_the_good_rows_stay_when_one_is_bad() -> None:
    rows: list[Json] = [row("ConfigMap", "one"), {"kind": 5, "name": "bad"}, row("ConfigMap", "two")]
    app, problems = read(application(status={"resources": rows}))
    assert [resource.name for resource in app.status.resources] == ["one", "bad", "two"]
    assert len(problems) == 1
    assert "kind" in problems[0]


def test_the_object_itself_is_not_changed() -> None:
    body = application(status={"resources": None, "reconciledAt": 5})
    before = msgspec.json.encode(body)
    decode(body, Application)
    assert msgspec.json.encode(body) == before


def test_where_too_many_rows_are_wrong_all_rows_go_and_the_rest_stays() -> None:
    rows: list[Json] = [{"name": 5} for _ in range(200)]
    app, problems = read(application(status={"resources": rows}))
    assert (app.name, app.status.resources) == ("shop", ())
    assert app.status.sync.status
    assert len(problems) < 100


@given(objects())
def test_anything_decodes_or_is_reported(body: Object) -> None:
    for kind in (Application, AppProject, Event):
        for field in ("", "metadata", "spec", "status"):
            wrapped: Object = {field: body} if field else body
            value, problems = decode(wrapped, kind)
            assert value is not None or problems


def test_sources_win_over_source() -> None:
    two: Object = {"sources": [{"repoURL": "https://a"}, {"repoURL": "https://b"}]}
    app, _ = read(application(spec=two, status={"sync": {"status": "Synced", "revisions": ["1", "2"]}}))
    assert [source.repo_url for source in app.sources] == ["https://a", "https://b"]
    assert app.revisions == ("1", "2")


def test_events_of_both_api_groups_say_the_same() -> None:
    old: Object = {
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
        "message": "Back-off",
        "lastTimestamp": "2026-03-02T03:10:00Z",
        "source": {"component": "kubelet"},
    }
    new: Object = {
        "regarding": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
        "note": "Back-off",
        "eventTime": "2026-03-02T03:10:00.000000Z",
        "reportingController": "kubelet",
    }
    for body in (old, new):
        event, problems = decode(body, Event)
        assert problems == ()
        assert event is not None
        assert str(event.about) == "Pod shop/web-1"
        assert event.says == "Back-off"
        assert event.seen_at == datetime(2026, 3, 2, 3, 10, tzinfo=UTC)
