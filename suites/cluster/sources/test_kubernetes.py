"""The Kubernetes source on a real API server: what it finds, with how much right, in how many requests."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import cast

import pytest

from suites.cluster.sources.fleet import deployment, namespace_of
from suites.cluster.sources.measured import Figures, fill, measured
from suites.cluster.sources.needy import NEEDY, needy_world
from suites.cluster.sources.real_cluster import RealCluster
from suites.cluster.sources.role import documented_rules, permissions, without
from whysync.app import cases, diagnose
from whysync.diagnosis.report import Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.http.errors import Forbidden, NotAuthenticated, NotTrusted
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, dig, fields, items, text

APPS = 100


@pytest.fixture(scope="session")
def fleet(cluster: RealCluster) -> RealCluster:
    fill(cluster, APPS)
    return cluster


@pytest.fixture(scope="session")
def needy(cluster: RealCluster) -> RealCluster:
    cluster.put_all(needy_world())
    return cluster


def read(
    cluster: RealCluster, home: Path, selection: Selection, *, token: str = "", namespace: str = ""
) -> Snapshot:
    config = cluster.kubeconfig(home, token=token)
    return read_kubernetes(KubeAccess(kubeconfig=str(config), namespace=namespace), selection)


def report_of(snapshot: Snapshot) -> Report:
    return diagnose(cases(SnapshotIndex(snapshot)))


def gap_texts(snapshot: Snapshot) -> str:
    return "\n".join(f"{gap.what} | {gap.why} | {gap.how_to_get}" for gap in snapshot.gaps)


# --- a fleet -------------------------------------------------------------------------------------------


def test_a_fleet_is_read_in_few_requests_and_every_cause_is_found(fleet: RealCluster, tmp_path: Path) -> None:
    config = fleet.kubeconfig(tmp_path)
    before = fleet.requests_served()
    figures = measured(config, "list", "--core", "-o", "json")
    requests = fleet.requests_served() - before
    assert requests < 80, requests
    assert figures.seconds < 30
    assert figures.memory_mib < 300
    rows = cast("list[dict[str, str]]", json.loads(figures.output)["apps"])
    shop = {row["name"]: row for row in rows if row["name"].startswith("shop-")}
    assert len(shop) == APPS
    for name, value in shop.items():
        number = int(name[5:])
        cause = str(value)
        if number % 5 in (1, 2):
            assert "replicas" in cause or "hand" in cause, value
        elif number % 5 in (3, 4):
            assert "pull" in cause, value


def test_a_hand_s_write_is_found_with_its_writer(fleet: RealCluster, tmp_path: Path) -> None:
    snapshot = read(fleet, tmp_path, Selection(names=("shop-0001",)))
    (app,) = report_of(snapshot).apps
    first = app.first
    assert first is not None
    assert first.field == "/spec/replicas"
    assert first.writer is not None
    assert first.writer.manager == "kubectl-edit"
    (selection,) = snapshot.desired["argocd/shop-0001"]
    assert selection.spec["replicas"] == 2
    assert "the last sync" in selection.origin


def test_several_writers_are_kept_apart(fleet: RealCluster, tmp_path: Path) -> None:
    body = deployment(6)
    label: Object = {"metadata": {**fields(body["metadata"]), "annotations": None, "labels": {"team": "a"}}}
    fleet.apply({**label, "apiVersion": "apps/v1", "kind": "Deployment"}, manager="team-controller")
    snapshot = read(fleet, tmp_path, Selection(names=("shop-0006",)))
    live = next(
        live_object
        for live_object in snapshot.live
        if live_object.ref.kind == "Deployment" and live_object.ref.name == "shop-0006"
    )
    managers = {text(fields(entry).get("manager")) for entry in items(live.meta.get("managedFields"))}
    assert {"argocd-controller", "kubectl-edit", "team-controller"} <= managers


def test_local_yaml_says_what_git_wants(fleet: RealCluster, tmp_path: Path) -> None:
    selection = deployment(2)
    fields(selection["spec"])["replicas"] = 7
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "web.json").write_text(json.dumps(selection))
    snapshot = read(fleet, tmp_path, Selection(names=("shop-0002",), local=str(tmp_path / "manifests")))
    (app,) = report_of(snapshot).apps
    assert any(finding.field == "/spec/replicas" for finding in app.findings)
    assert "rendered manifests of" not in gap_texts(snapshot)


def test_now_is_the_server_s(fleet: RealCluster, tmp_path: Path) -> None:
    snapshot = read(fleet, tmp_path, Selection(names=("shop-0000",)))
    assert snapshot.collected_at is not None
    assert abs(snapshot.collected_at.timestamp() - time.time()) < 30


# --- rights --------------------------------------------------------------------------------------------


def read_with_account(
    cluster: RealCluster, home: Path, selection: Selection, token: str, *, namespace: str = ""
) -> Snapshot:
    """Read with a new account; the authorizer needs a moment to see its role."""
    until = time.monotonic() + 20
    while True:
        try:
            return read(cluster, home, selection, token=token, namespace=namespace)
        except (Forbidden, NotAuthenticated):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def test_the_documented_role_is_enough(needy: RealCluster, tmp_path: Path) -> None:
    token = needy.account("smallest", documented_rules())
    snapshot = read_with_account(needy, tmp_path, Selection(names=(NEEDY,)), token)
    beyond = [gap for gap in snapshot.gaps if "forbidden" in gap.why]
    assert [gap.what for gap in beyond] == [
        f"live ingresses.networking.k8s.io, secrets, widgets.widgets.example.com in namespace {NEEDY}"
    ]
    assert '{apiGroups: ["widgets.example.com"], resources: [widgets], verbs: [list]}' in beyond[0].how_to_get


def test_no_line_of_the_documented_role_is_too_much(needy: RealCluster, tmp_path: Path) -> None:
    rules = documented_rules()
    selection = Selection(names=(NEEDY,))
    facts = _facts(read_with_account(needy, tmp_path, selection, needy.account("whole", rules)))
    useless: list[str] = []
    for number, (group, resource) in enumerate(permissions(rules)):
        if resource == "applications":
            continue  # nothing at all is seen without it
        token = needy.account(f"less-{number}", without(rules, group, resource))
        if _facts(read_with_account(needy, tmp_path, selection, token)) == facts:
            useless.append(f"{resource}.{group}")
    assert useless == []


def _facts(snapshot: Snapshot) -> tuple[list[str], list[tuple[str, bool]]]:
    """What was found, and what was missed for want of a right."""
    result = (*snapshot.live, *snapshot.projects, *snapshot.events)
    return sorted(str(item.ref) for item in result), [(g.what, "forbidden" in g.why) for g in snapshot.gaps]


def test_one_namespace_is_seen_and_the_rest_is_named(fleet: RealCluster, tmp_path: Path) -> None:
    own = namespace_of(0)
    rules: list[Json] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    token = fleet.account("narrow", rules, namespaces=("argocd", own))
    snapshot = read_with_account(fleet, tmp_path, Selection(), token, namespace="argocd")
    assert len([app for app in snapshot.applications if app.ref.name.startswith("shop-")]) == APPS
    assert {live_object.ref.namespace for live_object in snapshot.live if live_object.ref.kind == "Pod"} == {
        own
    }
    assert "forbidden" in gap_texts(snapshot)
    assert namespace_of(10) in gap_texts(snapshot)


def test_logins_that_fail_say_so(cluster: RealCluster, tmp_path: Path) -> None:
    with pytest.raises(NotAuthenticated):
        read(cluster, tmp_path, Selection(), token="nobody-has-this")
    config = cluster.kubeconfig(tmp_path)
    body = cast("Object", json.loads(config.read_text()))
    del fields(dig(body, "clusters", 0, "cluster"))["certificate-authority-data"]
    config.write_text(json.dumps(body))
    with pytest.raises(NotTrusted):
        read_kubernetes(KubeAccess(kubeconfig=str(config)), Selection())
    assert read_kubernetes(KubeAccess(kubeconfig=str(config), insecure=True), Selection(projects=("none",)))
    token = cluster.account("nobody", [])
    with pytest.raises(Forbidden) as caught:
        read(cluster, tmp_path, Selection(), token=token)
    assert "resources: [applications]" in caught.value.next


def test_the_command_line_says_it_too(fleet: RealCluster, tmp_path: Path) -> None:
    figures: Figures = measured(fleet.kubeconfig(tmp_path, token="wrong"), "list", "--core")
    assert figures.code == 2
    assert "rejects these credentials" in figures.errors
    assert "Traceback" not in figures.errors
