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
    found = SmallWorld.with_objects([config_map("a", x="1")], config_maps=(rights,))
    found.minutes(1)
    return found


def run(found: SmallWorld, line: str, user: str = "dev", *groups: str) -> tuple[str, bool]:
    return run_argocd(command_of(line), Actor(user=user, groups=groups), found.argocd)


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
    found = world()
    before = found.argocd.applications[APP]
    assert run(found, line) == (HIDDEN, True)
    assert found.argocd.applications[APP] is before


def test_who_may_see_it_hears_which_right_is_lacking() -> None:
    found = world("p, dev, applications, get, */*, allow")
    assert run(found, "argocd app get shop --refresh") == ("", False)
    said, failed = run(found, "argocd app delete shop")
    assert failed
    assert said.startswith(f"{HIDDEN}: applications, delete, default/shop, sub: dev")
    assert run(found, "argocd app set shop --path apps/other") == (HIDDEN, True)


def test_rights_come_with_groups_too() -> None:
    found = world("p, role:ops, applications, *, */*, allow\ng, ops, role:ops")
    assert run(found, "argocd app set shop --path apps/other", "dev", "ops") == ("", False)
    assert dig(found.argocd.applications[APP], "spec", "source", "path") == "apps/other"
    said, _ = run(found, "argocd app terminate-op shop", "dev", "ops")
    assert said.endswith("Unable to terminate operation. No operation is in progress")


def test_a_project_is_changed_by_those_who_may() -> None:
    found = world("p, lead, projects, update, default, allow")
    line = "argocd proj add-source default https://git.example.com/other.git"
    said, failed = run(found, line)
    assert (failed, said.partition(", sub")[0]) == (True, f"{HIDDEN}: projects, update, default")
    assert run(found, line, "lead") == ("", False)


@pytest.mark.parametrize(
    ("flags", "left"),
    [("", None), ("--propagation-policy background", None), ("--cascade=false", "1")],
)
def test_a_deletion_takes_the_objects_along_unless_it_is_told_not_to(flags: str, left: str | None) -> None:
    found = world()
    assert run(found, f"argocd app delete shop {flags} -y", "admin") == ("application 'shop' deleted", False)
    found.minutes(10)
    assert found.argocd.applications == {}
    assert found.data("a", "x") == left


def test_a_deletion_without_its_objects_drops_the_finalizer() -> None:
    app = application()
    meta = app["metadata"]
    assert isinstance(meta, dict)
    meta["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
    found = SmallWorld.with_objects([config_map("a", x="1")], app)
    found.minutes(1)
    found.argocd.request_sync("shop")
    found.minutes(1)
    run(found, "argocd app delete shop --cascade=false", "admin")
    found.minutes(10)
    assert (found.argocd.applications, found.data("a", "x")) == ({}, "1")


def test_the_results_of_a_retry_are_told_again() -> None:
    retry: Object = {"limit": 2, "backoff": {"duration": "5s", "factor": 1}}
    app = application(automated={}, options=(), retry=retry)
    found = SmallWorld.with_objects([config_map("a")], app)  # the namespace is not there
    found.minutes(5)
    refused = [one for one in found.argocd.trace if one.kind is TraceKind.RESULT]
    assert [one.text for one in refused] == ['namespaces "shop" not found'] * 3
