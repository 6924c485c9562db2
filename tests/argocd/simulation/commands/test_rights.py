"""`argocd app …` in the hands of somebody: what Argo CD's own permissions let them do."""

from __future__ import annotations

import pytest

from tests.argocd.app_controller.world import SmallWorld, application, config_map
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.simulation.commands.actor import Actor
from whysync.argocd.simulation.commands.argocd_cli import run_argocd
from whysync.argocd.simulation.commands.command_line import command_of
from whysync.json_tree import Object, dig

HIDDEN = "rpc error: code = PermissionDenied desc = permission denied"
APP = "argocd/shop"


def world(policy: str = "") -> SmallWorld:
    rights: Object = {
        "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"},
        "data": {"policy.csv": policy},
    }
    result = SmallWorld.with_objects([config_map("a", x="1")], config_maps=(rights,))
    result.minutes(1)
    return result


def run(simulation: SmallWorld, line: str, user: str = "dev", *groups: str) -> tuple[str, bool]:
    return run_argocd(command_of(line), Actor(user=user, groups=groups), simulation.argocd)


@pytest.mark.parametrize(
    "line",
    [
        "argocd app get shop --refresh",
        "argocd app sync shop",
        "argocd app terminate-op shop",
        "argocd app set shop --path apps/other",
        "argocd app delete shop",
        "argocd app sync nowhere",
    ],
)
def test_what_is_not_theirs_looks_as_if_it_were_not_there(line: str) -> None:
    result = world()
    before = result.argocd.applications[APP]
    assert run(result, line) == (HIDDEN, True)
    assert result.argocd.applications[APP] is before


def test_the_missing_permission_is_shown_to_those_who_may_read_the_app() -> None:
    result = world("p, dev, applications, get, */*, allow")
    assert run(result, "argocd app get shop --refresh") == ("", False)
    output, failed = run(result, "argocd app delete shop")
    assert failed
    assert output.startswith(f"{HIDDEN}: applications, delete, default/shop, sub: dev")
    assert run(result, "argocd app set shop --path apps/other") == (HIDDEN, True)


def test_rights_come_with_groups_too() -> None:
    result = world("p, role:ops, applications, *, */*, allow\ng, ops, role:ops")
    assert run(result, "argocd app set shop --path apps/other", "dev", "ops") == ("", False)
    assert dig(result.argocd.applications[APP], "spec", "source", "path") == "apps/other"
    output, _ = run(result, "argocd app terminate-op shop", "dev", "ops")
    assert output.endswith("Unable to terminate operation. No operation is in progress")


def test_a_project_is_changed_by_those_who_may() -> None:
    result = world("p, lead, projects, update, default, allow")
    line = "argocd proj add-source default https://git.example.com/other.git"
    output, failed = run(result, line)
    assert (failed, output.partition(", sub")[0]) == (True, f"{HIDDEN}: projects, update, default")
    assert run(result, line, "lead") == ("", False)


@pytest.mark.parametrize(
    ("flags", "remaining"),
    [("", None), ("--propagation-policy background", None), ("--cascade=false", "1")],
)
def test_a_deletion_cascades_unless_disabled(flags: str, remaining: str | None) -> None:
    result = world()
    assert run(result, f"argocd app delete shop {flags} -y", "admin") == ("application 'shop' deleted", False)
    result.minutes(10)
    assert result.argocd.applications == {}
    assert result.data("a", "x") == remaining


def test_a_deletion_without_its_objects_drops_the_finalizer() -> None:
    app = application()
    meta = app["metadata"]
    assert isinstance(meta, dict)
    meta["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
    result = SmallWorld.with_objects([config_map("a", x="1")], app)
    result.minutes(1)
    result.argocd.request_sync("shop")
    result.minutes(1)
    run(result, "argocd app delete shop --cascade=false", "admin")
    result.minutes(10)
    assert (result.argocd.applications, result.data("a", "x")) == ({}, "1")


def test_the_results_of_a_retry_are_told_again() -> None:
    retry: Object = {"limit": 2, "backoff": {"duration": "5s", "factor": 1}}
    app = application(automated={}, options=(), retry=retry)
    result = SmallWorld.with_objects([config_map("a")], app)  # the namespace is not there
    result.minutes(5)
    refused = [item for item in result.argocd.trace if item.kind is TraceKind.RESULT]
    assert [item.text for item in refused] == ['namespaces "shop" not found'] * 3
