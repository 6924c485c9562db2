"""Git as an Application knows it: which commit it was compared with, and which one an operation holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.situations import REVISION, application
from whysync.argocd.simulation.sources import PinnedCommit, pinned_commit, repositories_of, sources_of
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.clock import Clock

HELD = "b" * 40
NEW: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"a": "new"},
}
OTHER: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}}
OLD: Object = {**NEW, "data": {"a": "old"}}


def operating(*, result: str = HELD, revision: str = "", under_way: bool = True, **spec: Json) -> Object:
    state: Object = {"phase": "Running", "operation": {"sync": {"revision": revision}}}
    if result:
        state["syncResult"] = {"revision": result}
    app = application(spec=spec, status={"operationState": state})
    return {**app, "operation": {"sync": {}}} if under_way else app


def live(namespace: str) -> Object:
    applied = json.dumps(OLD)
    notes: Object = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    return {**OLD, "metadata": {"name": "settings", "namespace": namespace, "annotations": notes}}


def said(pinned: PinnedCommit | None) -> list[Json]:
    assert pinned is not None
    assert pinned.commit == HELD
    return [str(dig(manifest, "data", "a")) for manifest in pinned.manifests]


def test_it_said_what_it_has_applied() -> None:
    assert said(pinned_commit(operating(), [NEW, OTHER], [live("shop")])) == ["old", "b"]
    placed: Object = {**NEW, "metadata": {"name": "settings", "namespace": "shop"}}
    assert said(pinned_commit(operating(), [placed], [live("shop")])) == ["old"]


def test_of_an_object_in_another_namespace_it_says_nothing() -> None:
    assert said(pinned_commit(operating(), [NEW], [live("another")])) == ["new"]


def test_before_there_is_a_result_what_was_asked_for_counts() -> None:
    assert said(pinned_commit(operating(result="", revision=HELD), [NEW], [])) == ["new"]


@pytest.mark.parametrize(
    "app",
    [
        operating(under_way=False),  # it is over: nothing is pinned
        operating(result=REVISION),  # the commit that was compared
        operating(result="", revision=""),
        operating(result="1.2.3"),  # of a chart
        operating(sources=[{"repoURL": "https://git.example.com/shop.git", "path": "deploy"}]),
    ],
)
def test_where_no_commit_is_held_there_is_none(app: Object) -> None:
    assert pinned_commit(app, [NEW], [live("shop")]) is None


def test_the_branch_has_moved_on_and_the_held_commit_can_still_be_rendered() -> None:
    app = operating()
    pinned = pinned_commit(app, [NEW], [live("shop")])
    repositories = repositories_of(app, [NEW], Clock(datetime(2026, 3, 2, tzinfo=UTC)), pinned)
    git = repositories.get("https://git.example.com/shop.git")
    assert git is not None
    assert git.resolve("main") == REVISION
    source = fields(dig(app, "spec", "source"))
    rendered = {
        commit: [str(dig(manifest, "data", "a")) for manifest in git.render(source, commit).manifests]
        for commit in (REVISION, HELD)
    }
    assert rendered == {REVISION: ["new"], HELD: ["old"]}


def test_several_sources_each_with_its_commit() -> None:
    url = "https://git.example.com"
    app = application(
        spec={
            "sources": [
                {"repoURL": f"{url}/values.git", "ref": "values", "targetRevision": "main"},
                {"repoURL": f"{url}/shop.git", "path": "/deploy/", "targetRevision": "v1"},
                {"repoURL": f"{url}/charts.git", "chart": "redis", "targetRevision": "1.2.3"},
            ]
        },
        status={
            "sync": {"status": "Synced", "revisions": ["a" * 40, "c" * 40]},
            "sourceTypes": ["Directory", "Helm"],
        },
    )
    sources = sources_of(app)
    assert [
        (source.path, source.branch, source.commit[:1], source.type, source.renders) for source in sources.all
    ] == [
        (".", "main", "a", "Directory", False),
        ("deploy", "v1", "c", "Helm", True),
        ("redis", "1.2.3", "", "Directory", True),
    ]
    assert sources.main is sources.all[1]


def test_a_single_source_renders_from_any_path() -> None:
    (source,) = sources_of(application(spec={"source": {"repoURL": "https://git.example.com/shop.git"}})).all
    assert (source.path, source.renders, source.commit) == (".", True, REVISION)
