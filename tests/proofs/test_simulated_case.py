"""A Case as a running world: what was at rest stays at rest, what the facts lack is assumed or said."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.proofs.worlds import (
    bundle,
    deployment,
    in_git,
    large_app,
    running,
    settings,
    synced,
    there,
    wrote,
)
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.rules.test_no_false_alarms import SITUATIONS
from tests.situations import application, case_of, row
from whysync.argocd.app_controller.trace import TraceKind
from whysync.diagnosis.case import Case
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import Key
from whysync.proofs.required_facts import NotSimulated
from whysync.proofs.simulated_case import SimulatedCase, simulated

WELL: Object = {"status": "Healthy"}
A_WHILE = timedelta(minutes=10)
# Argo CD calls it Synced although Git and live differ, for a reason that is not in the facts.
UNSEEN_BY_ARGOCD = (
    "undetected_drift/label_of_a_namespace",
    "undetected_drift/missed_by_server_side_diff",
    "undetected_drift/same_key_in_many_objects",
    "tracking_id_mismatch/synced_with_the_id_of_another_app",
)


def _started(world: SimulatedCase) -> list[str]:
    return [str(entry) for entry in world.simulation.argocd.trace if entry.kind is TraceKind.STARTED]


def _rests(case: Case, *, everything: bool) -> None:
    try:
        world = simulated(case, everything=everything)
    except NotSimulated:
        return
    world.run(A_WHILE)
    assert _started(world) == []
    assert world.sync_and_health == ("Synced", "Healthy")


def _is_well(case: Case) -> bool:
    return (case.app.status.sync.status, case.app.status.health.status) == ("Synced", "Healthy")


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_what_is_well_stays_well(folder: Path) -> None:
    case = load_case(folder)
    if _is_well(case) and case.desired and case_name(folder) not in UNSEEN_BY_ARGOCD:
        _rests(case, everything=False)


@pytest.mark.parametrize("name", sorted(SITUATIONS))
@pytest.mark.parametrize("everything", [False, True])
def test_healthy_situations_stay_so(name: str, *, everything: bool) -> None:
    case = case_of(*SITUATIONS[name]())
    if _is_well(case) and case.desired:
        _rests(case, everything=everything)


@pytest.mark.parametrize("replicas", [0, 1, 3])
@pytest.mark.parametrize("everything", [False, True])
def test_a_deployment_without_its_pods_is_not_rolled_out(replicas: int, *, everything: bool) -> None:
    declared = deployment(replicas=replicas)
    case = case_of(
        bundle(), synced(row("Deployment", "shop", health=WELL)), in_git(declared), running(declared)
    )
    world = simulated(case, everything=everything)
    before = len(world.simulation.api_server.store.journal)
    world.run(A_WHILE)
    assert world.sync_and_health == ("Synced", "Healthy")
    assert [
        change.object_key
        for change in world.simulation.api_server.store.journal[before:]
        if change.object_key[0][1] == "pods"
    ] == []


def test_only_what_differs_is_loaded() -> None:
    case = case_of(*large_app(60, 1))
    scope = simulated(case).scope
    assert scope.left_out == 59
    assert [desired_object.ref.name for desired_object in scope.desired] == ["shop-0"]
    assert simulated(case, everything=True).scope.left_out == 0


def test_what_a_fix_touches_is_loaded_too() -> None:
    case = case_of(*large_app(60, 1))
    world = simulated(case, touched=[Key("", "ConfigMap", "shop", "settings-7")])
    assert {desired_object.ref.name for desired_object in world.scope.desired} == {"shop-0", "settings-7"}


def test_an_autoscaler_comes_with_its_target_and_its_manifest() -> None:
    """Without the manifest, a sync with prune would delete it."""
    hpa: Object = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
        },
    }
    rows = (
        row("Deployment", "shop", "OutOfSync", health=WELL),
        {**row("HorizontalPodAutoscaler", "shop", health=WELL), "group": "autoscaling", "version": "v2"},
    )
    live = running(deployment(replicas=5), managed=[_scaled("kube-controller-manager")])
    app = synced(
        *rows, sync="OutOfSync", spec={"syncPolicy": {"automated": {"prune": True, "selfHeal": True}}}
    )
    with_manifest = case_of(bundle(), app, in_git(deployment()), live, in_git(hpa), there(hpa))
    without = case_of(bundle(), app, in_git(deployment()), live, there(hpa))
    for case in (with_manifest, without):
        world = simulated(case)
        world.run(timedelta(minutes=2))
        assert Key("autoscaling", "HorizontalPodAutoscaler", "shop", "shop") in world.objects()


def _scaled(manager: str) -> Object:
    return wrote(manager, {"f:spec": {"f:replicas": {}}}, subresource="scale")


def test_a_new_commit_goes_into_the_same_world() -> None:
    case = case_of(*large_app(30, 0))
    world = simulated(case, touched=[Key("apps", "Deployment", "shop", "shop-0")])
    changed = [
        deployment("shop-0", image="shop:2") if desired_object.ref.name == "shop-0" else desired_object
        for desired_object in case.desired
    ]
    world.push(changed)
    world.simulation.argocd.refresh(world.app, hard=True)
    world.run(timedelta(seconds=1))
    assert world.sync_and_health[0] == "OutOfSync"
    world.sync()
    world.run(timedelta(minutes=5))
    assert world.sync_and_health == ("Synced", "Healthy")
    after = world.objects()[Key("apps", "Deployment", "shop", "shop-0")]
    assert dig(after, "spec", "template", "spec", "containers", 0, "image") == "shop:2"


def test_secrets_are_unknown_values_and_not_bytes() -> None:
    """Equal marks are equal; a sync of another mark is no error of encoding."""
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": "shop"},
        "type": "Opaque",
        "data": {"password": "aHVudGVyMg=="},
    }
    other: Object = {**secret, "data": {"password": "aHVudGVyMw=="}}
    same = case_of(bundle(), synced(row("Secret", "login")), in_git(secret), there(secret))
    world = simulated(same, everything=True)
    world.run(A_WHILE)
    assert world.sync_and_health == ("Synced", "Healthy")
    app = synced(row("Secret", "login", "OutOfSync"), sync="OutOfSync")
    differs = simulated(case_of(bundle(), app, in_git(secret), there(other)))
    differs.sync()
    differs.run(timedelta(minutes=1))
    assert differs.sync_and_health[0] == "Synced"
    assert [gap.what for gap in differs.gaps if "Secret" in gap.what] == ["the values of Secret shop/login"]


def test_a_kind_that_nobody_defined_can_be_synced() -> None:
    body: Object = {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": {"size": 3},
    }
    entry: Object = {**row("Database", "main", "OutOfSync"), "group": "db.example.com"}
    case = case_of(
        bundle(),
        synced(entry, sync="OutOfSync"),
        in_git(body),
        there({**body, "spec": {"size": 1}}),
    )
    world = simulated(case)
    assert any("Database" in gap.what for gap in world.gaps)
    world.sync()
    world.run(timedelta(minutes=1))
    assert world.sync_and_health[0] == "Synced"
    assert dig(world.objects()[Key("db.example.com", "Database", "shop", "main")], "spec", "size") == 3


def test_references_of_running_pods_exist_though_not_collected() -> None:
    declared = deployment()
    container = fields(dig(declared, "spec", "template", "spec", "containers", 0))
    container["envFrom"] = [{"secretRef": {"name": "db"}}, {"configMapRef": {"name": "flags"}}]
    fields(dig(declared, "spec", "template", "spec"))["serviceAccountName"] = "shop"
    newer: Object = {**declared, "spec": {**fields(declared["spec"]), "replicas": 4}}
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL), sync="OutOfSync")
    world = simulated(case_of(bundle(), app, in_git(newer), running(declared)))
    world.sync()
    world.run(timedelta(minutes=5))
    assert world.sync_and_health == ("Synced", "Healthy")


def test_no_manifests_make_no_world() -> None:
    with pytest.raises(NotSimulated):
        simulated(case_of(bundle(), application(sync="OutOfSync"), there(settings("a"))))


def test_the_same_facts_give_the_same_run() -> None:
    def trace() -> list[str]:
        world = simulated(case_of(*large_app(30, 2)))
        world.sync()
        world.run(A_WHILE)
        return [str(entry) for entry in world.simulation.argocd.trace]

    assert trace() == trace()
