"""Lists with selectors, discovery, and Events in both API groups."""

from __future__ import annotations

import pytest

from tests.kubernetes.apiserver.talk import Talk, config_map, definition, said
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request, kind_of

MAPS = "/api/v1/namespaces/shop/configmaps"


def labelled(name: str, **labels: Json) -> Object:
    return {**config_map(name), "metadata": {"name": name, "labels": dict(labels)}}


def names(answer: Answer) -> list[str]:
    return [text(dig(item, "metadata", "name")) for item in items((answer.body or {}).get("items"))]


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("app=web", ["a"]),
        ("app!=web", ["b", "c"]),
        ("app", ["a", "b"]),
        ("!app", ["c"]),
        ("app in (web, api),tier", ["b"]),
        ("app notin (web)", ["b", "c"]),
    ],
)
def test_labels_choose(talk: Talk, selector: str, chosen: list[str]) -> None:
    for obj in (labelled("a", app="web"), labelled("b", app="api", tier="back"), labelled("c")):
        talk.create(obj)
    path = f"{MAPS}?labelSelector={selector.replace(' ', '%20')}"
    assert names(talk.api_server.send(Request(verb="list", path=path))) == chosen
    talk.api_server.send(Request(verb="deletecollection", path=path))
    remaining = names(talk.api_server.send(Request(verb="list", path=MAPS)))
    assert remaining == [name for name in ("a", "b", "c") if name not in chosen]


def test_fields_choose_where_the_kind_knows_them(talk: Talk) -> None:
    talk.create(config_map("a"))
    talk.create(config_map("b"))
    selected = talk.api_server.send(Request(verb="list", path=f"{MAPS}?fieldSelector=metadata.name=b"))
    assert names(selected) == ["b"]
    wrong = talk.api_server.send(Request(verb="list", path=f"{MAPS}?fieldSelector=data.x=1"))
    assert (wrong.code, said(wrong)) == (
        400,
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )
    pods = "/api/v1/namespaces/shop/pods?fieldSelector=status.phase%3DRunning"
    assert talk.api_server.send(Request(verb="list", path=pods)).code == 200


def test_discovery_tells_of_custom_kinds(talk: Talk) -> None:
    talk.create(definition({"type": "object"}))
    groups = talk.api_server.send(Request(verb="get", path="/apis", user="nobody"))
    group_names = [text(fields(group)["name"]) for group in items((groups.body or {})["groups"])]
    assert "shop.example" in group_names
    resources = talk.api_server.send(Request(verb="get", path="/apis/shop.example/v1")).body or {}
    assert dig(resources, "resources", 0, "kind") == "Widget"
    served = kind_of(talk.api_server, "shop.example/v1", "Widget")
    assert served is not None
    assert served.path("shop", "w") == "/apis/shop.example/v1/namespaces/shop/widgets/w"
    assert talk.api_server.send(Request(verb="get", path="/apis/shop.example/v9")).code == 404


def test_events_are_the_same_in_both_groups(talk: Talk) -> None:
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "shop"},
        "message": "Back-off",
        "reason": "BackOff",
        "type": "Warning",
    }
    assert talk.create(event).code == 201
    path = "/apis/events.k8s.io/v1/namespaces/shop/events/e"
    other = talk.api_server.send(Request(verb="get", path=path)).body or {}
    assert (other["note"], dig(other, "regarding", "name")) == ("Back-off", "p")
    assert "message" not in other
    assert talk.get(event).body == {**(talk.get(event).body or {}), "message": "Back-off"}
