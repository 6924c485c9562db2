"""Rules of aggregated ClusterRoles are gathered, whoever else writes them."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground
from whysync.json_tree import Json, Object, dig, items
from whysync.kubernetes.apiserver.protocol import Request

PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
READ: Object = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
WATCH: Object = {"verbs": ["watch"], "apiGroups": [""], "resources": ["services"]}
GATHERS: Object = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}, {"matchLabels": {"to": "some"}}]}


def role(name: str, *rules: Json, to: str = "", gathers: Object | None = None) -> Object:
    labels: Object = {"to": to} if to else {}
    body: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": list(rules),
    }
    return {**body, "aggregationRule": gathers} if gathers is not None else body


def send(play: Playground, verb: str, body: Object, name: str = "") -> None:
    path = f"{PATH}/{name}" if name else PATH
    assert play.api_server.send(Request(verb=verb, path=path, body=body, manager="test")).ok


def live_role(play: Playground, name: str) -> Object:
    answer = play.api_server.send(Request(verb="get", path=f"{PATH}/{name}"))
    assert answer.body is not None
    return answer.body


def test_rules_come_from_the_roles_that_the_selectors_match_each_once() -> None:
    play = Playground()
    send(play, "create", role("all", gathers=GATHERS))
    for item in (role("b", READ, to="some"), role("a", WATCH, READ, to="all"), role("c", READ)):
        send(play, "create", item)
    play.run(1)
    assert live_role(play, "all")["rules"] == [WATCH, READ]
    managers = [
        dig(managed_field, "manager")
        for managed_field in items(dig(live_role(play, "all"), "metadata", "managedFields"))
    ]
    assert "clusterrole-aggregation-controller" in managers


def test_what_somebody_else_writes_there_is_undone_and_what_goes_is_taken_out() -> None:
    play = Playground()
    send(play, "create", role("all", gathers=GATHERS))
    send(play, "create", role("a", READ, to="all"))
    play.run(1)
    send(play, "merge-patch", {"rules": []}, "all")
    play.run(1)
    assert live_role(play, "all")["rules"] == [READ]
    send(play, "delete", {}, "a")
    play.run(1)
    assert not live_role(play, "all").get("rules")


def test_a_role_that_gathers_nothing_is_left_alone() -> None:
    play = Playground()
    send(play, "create", role("own", READ, to="all"))
    send(play, "create", role("other", WATCH, to="all"))
    before = live_role(play, "own")
    play.run(60)
    assert live_role(play, "own") == before
