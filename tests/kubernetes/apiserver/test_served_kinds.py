"""Served kinds, and Events in both API groups."""

from __future__ import annotations

from tests.kubernetes.apiserver.talk import Talk, definition
from whysync.json_tree import Object, dig
from whysync.kubernetes.apiserver.protocol import Request, kind_of


def test_a_custom_kind_is_served(talk: Talk) -> None:
    talk.create(definition({"type": "object"}))
    served = kind_of(talk.api_server, "shop.example/v1", "Widget")
    assert served is not None
    assert served.path("shop", "w") == "/apis/shop.example/v1/namespaces/shop/widgets/w"


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
