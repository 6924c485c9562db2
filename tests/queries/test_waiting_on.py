"""The object that a running operation waits for, from its message and the rows."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key
from whysync.queries.waiting_on import wait_of

ROLLOUT = Key("argoproj.io", "Rollout", "shop", "core")


def row(group: str, kind: str, name: str) -> Object:
    return {"group": group, "kind": kind, "version": "v1", "namespace": "shop", "name": name}


@pytest.mark.parametrize(
    "message",
    [
        "waiting for healthy state of argoproj.io/Rollout/core",
        "waiting for healthy state of argoproj.io/rollout/core",
        "waiting for healthy state of argoproj.io/Rol",
    ],
)
def test_the_message_names_a_row(message: str) -> None:
    assert _awaited(message, row("apps", "Deployment", "core")) == ROLLOUT


def test_a_cut_message_that_several_rows_match_names_none() -> None:
    """Which of the two Rollouts was meant is behind the cut."""
    awaited = _awaited("waiting for healthy state of argoproj.io/Rol", row("argoproj.io", "Rollout", "web"))
    assert awaited == Key("argoproj.io", "", "shop", "")


def test_of_several_rows_a_cut_message_means_the_one_that_is_not_healthy() -> None:
    waiting: Object = {**row("argoproj.io", "Rollout", "core-web"), "health": {"status": "Suspended"}}
    done: Object = {**row("argoproj.io", "Rollout", "core-api"), "health": {"status": "Healthy"}}
    awaited = _awaited("waiting for healthy state of argoproj.io/Rollout/core-", done, waiting)
    assert awaited == Key("argoproj.io", "Rollout", "shop", "core-web")


def test_a_message_about_several_resources_is_complete() -> None:
    awaited = _awaited("waiting for healthy state of argoproj.io/Rollout/cor and 2 more resources")
    assert awaited == Key("argoproj.io", "Rollout", "shop", "cor")


def test_a_cluster_scoped_kind_has_no_namespace() -> None:
    assert _awaited("waiting for healthy state of /Namespace/core") == Key("", "Namespace", "", "core")


def _awaited(message: str, *rows: Object) -> Key:
    status: Object = {
        "operationState": {"phase": "Running", "startedAt": "2026-01-05T11:00:00Z", "message": message},
        "resources": [row("argoproj.io", "Rollout", "core"), *rows],
    }
    wait = wait_of(case_of(application(status=status)))
    assert wait is not None
    return wait.ref.key
