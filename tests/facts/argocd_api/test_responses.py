"""Answers of any shape: what can be read is read, and nothing crashes."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.facts.argocd_api.scenes import application, log, of, shop
from tests.facts.argocd_api.server import ArgoCD
from whysync.facts.argocd_api import read_argocd
from whysync.facts.argocd_api.api import is_cached
from whysync.facts.argocd_api.responses import (
    failing_containers,
    id_of,
    listed,
    managed_of,
    manifests_of,
    nodes_of,
    parse_log_stream,
    with_row_health,
)
from whysync.facts.argocd_api.selection import Chosen
from whysync.facts.argocd_api.settings import cluster_secrets, config_map
from whysync.facts.selection import Selection
from whysync.json_tree import Json, Object

KEYS = st.sampled_from(
    ["items", "nodes", "metadata", "name", "namespace", "uid", "kind", "health", "status", "parentRefs",
     "manifests", "liveState", "targetState", "resources", "resourceHealthSource", "containerStatuses",
     "state", "waiting", "terminated", "restartCount", "ownerReferences", "conditions", "reconciledAt",
     "server", "resourceOverrides"]
)  # fmt: skip
WORDS = st.sampled_from(["", "appTree", "null", "{}", "x"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), WORDS)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=30,
)
OBJECTS = cast("st.SearchStrategy[Object]", st.dictionaries(KEYS, ANYTHING, max_size=8))


@given(OBJECTS, OBJECTS)
def test_any_response_is_read(response: Object, other: Object) -> None:
    managed_of(response)
    manifests_of(response)
    listed(response, "Application")
    id_of(response)
    is_cached(response, None)
    with_row_health(response, other)
    failing_containers(response)
    config_map(response, "argocd")
    list(cluster_secrets(response, "argocd"))
    Chosen(nodes_of(response), (), closely=False)


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_stream_is_read(stream: list[bytes]) -> None:
    parse_log_stream(stream)


class TestStreams:
    def test_lines_until_the_last(self) -> None:
        message = parse_log_stream(
            [entry(content="a", podName="p"), entry(content="b", podName="p"), entry(last=True)]
        )
        assert message.lines == ("a", "b")
        assert message.problem == ""

    def test_an_error_that_looks_like_a_line(self) -> None:
        """Argo CD sends what the kubelet says as a line of no Pod."""
        message = parse_log_stream(
            [entry(content='container "web" is waiting to start', podName=""), entry(last=True)]
        )
        assert message.lines == ()
        assert "waiting to start" in message.problem

    @pytest.mark.parametrize(
        "line",
        [b'{"error": {"message": "permission denied", "grpc_code": 7}}', b'{"error": "permission denied"}'],
    )
    def test_an_error_in_the_stream(self, line: bytes) -> None:
        assert parse_log_stream([entry(content="a", podName="p"), line]).problem == "permission denied"

    def test_a_stream_that_breaks_off(self) -> None:
        message = parse_log_stream([entry(content="a", podName="p"), b'{"result": {"conte'])
        assert (message.lines, message.problem) == (("a",), "the stream was interrupted")


def entry(**result: Json) -> bytes:
    return json.dumps({"result": {"last": False, **result}}).encode()


def test_a_log_without_end_is_cut_at_its_beginning() -> None:
    long = tuple(f"{number:06} {'x' * 4000}" for number in range(400))
    snapshot = replace(shop(), logs=(log("web-1", "web", *long, previous=True),))
    with ArgoCD(snapshot) as argocd:
        read = read_argocd(argocd.server(), Selection(names=("shop",)))
    (tail,) = read.logs
    assert sum(map(len, tail.lines)) <= 256 << 10
    assert tail.lines[-1] == long[-1]


def test_apps_with_odd_names_are_asked_for_as_they_are() -> None:
    odd = application("a b%2F..ü")
    with ArgoCD(of(odd)) as argocd:
        snapshot = read_argocd(argocd.server(), Selection(), everything=True)
    assert [application.ref.name for application in snapshot.applications] == ["a b%2F..ü"]
