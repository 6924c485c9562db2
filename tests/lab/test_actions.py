"""What may happen in a scenario beside pushes and commands: branches that go, parts that stand still."""

from __future__ import annotations

from datetime import timedelta

import pytest

from whysync.errors import WhysyncError
from whysync.json_tree import Object, dig, fields, items, text
from whysync.lab.parse import scenario_from
from whysync.lab.player import ScenarioRun, play

BASE = """
title: A test
ends: 10m
applications:
- metadata: {name: web}
  spec:
    source: {repoURL: "https://git.example.com/platform/deploy.git", targetRevision: main, path: web}
    destination: {namespace: web}
    syncPolicy: {automated: {selfHeal: true}, syncOptions: [CreateNamespace=true]}
git:
  files: {web/Chart.yaml: "apiVersion: v2"}
  renders:
    web:
      random: true
      manifests: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: web}
        data: {first: RANDOM, second: x-RANDOM}
happens:
"""


def played(happens: str) -> ScenarioRun:
    return play(scenario_from(BASE + happens, name="mine", origin="mine.yaml"))


def status(done: ScenarioRun) -> Object:
    return fields(done.applications["argocd/web"].get("status"))


def data(done: ScenarioRun) -> list[str]:
    result = done.api_server.store.get((("", "configmaps"), "web", "web"))
    return [text(value) for value in fields(dig(result, "data")).values()]


def test_what_a_tool_makes_up_is_another_text_in_each_rendering_and_one_in_each() -> None:
    once, again = played(""), played("- {at: 5m, run: argocd app get web --hard-refresh}")
    assert data(once)[1] == f"x-{data(once)[0]}"
    assert len(data(once)[0]) == 16
    assert data(again) != data(once)
    assert data(played("")) == data(once), "the same every time"


def test_a_deleted_branch_cannot_be_resolved() -> None:
    done = played("- {at: 2m, delete_branch: {branch: main}}\n- {at: 3m, delete_branch: {branch: main}}")
    result = [text(dig(condition, "message")) for condition in items(status(done).get("conditions"))]
    assert any("unable to resolve 'main' to a commit SHA" in item for item in result)
    assert [(action.failed, action.answer) for action in done.actions] == [
        (False, ""),
        (True, "there is no branch main"),
    ]


def test_without_its_controller_nothing_is_looked_at_until_it_goes_on() -> None:
    change = "- {at: 3m, run: kubectl delete configmap web -n web}"
    away = played(f"- {{at: 2m, controller: stops}}\n{change}")
    assert dig(status(away), "sync", "status") == "Synced"
    assert data(away) == []
    assert away.elapsed == timedelta(minutes=10)
    back = played(f"- {{at: 2m, controller: stops}}\n{change}\n- {{at: 5m, controller: goes on}}")
    assert data(back) != []


def test_a_cluster_that_does_not_answer_makes_the_app_unknown_until_it_does() -> None:
    away = played("- {at: 2m, api_server: {error: 'dial tcp 10.0.0.1:443: i/o timeout'}}")
    assert dig(status(away), "sync", "status") == "Unknown"
    again = "- {at: 2m, api_server: {error: away}}\n- {at: 6m, api_server: {}}"
    assert dig(status(played(again)), "sync", "status") == "Synced"


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        ("- {at: 2m, controller: halts}", "controller cannot be 'halts'"),
        ("- {at: 2m, delete_branch: {}}", "branch is missing"),
        ("- {at: 2m, api_server: {errror: x}}", "no field 'errror'"),
    ],
)
def test_an_unknown_action_is_an_error(happens: str, message: str) -> None:
    with pytest.raises(WhysyncError, match=message):
        played(happens)


def test_a_file_that_is_meant_to_be_broken_stops_the_folder_only_where_it_looks_like_a_manifest() -> None:
    plain = (
        BASE.partition("git:")[0] + "git:\n  files:\n    web/web.yaml: |\n      {}\n    web/other.yaml: |\n"
    )
    rest = (
        "      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: web}\n  broken: [web/web.yaml]\n"
    )
    for written, sync in (("kind: {apiVersion: metadata: }", "Unknown"), ("[a, notes", "Synced")):
        changed = (plain + rest).replace("{}\n", f"{written}\n", 1)
        done = play(scenario_from(changed, name="mine", origin="mine.yaml"))
        assert dig(status(done), "sync", "status") == sync
