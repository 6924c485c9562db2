"""What is asked of Argo CD's API, and what becomes of its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.argocd_api.scenes import application, live, obj, of, of_lab, project, shop
from tests.facts.argocd_api.server import TOKEN, ArgoCD, Fault
from whysync import app
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NotFound
from whysync.facts.argocd_api import read_argocd
from whysync.facts.http.errors import NotAuthenticated, ServerFailed
from whysync.facts.selection import Selection
from whysync.facts.snapshot import GapKind, Snapshot
from whysync.json_tree import Json, Object, dig
from whysync.kubernetes.api.manifest import Manifest, Role

EVERYTHING = Selection()


def names(snapshot: Snapshot) -> list[str]:
    return [application.ref.place for application in snapshot.applications]


def test_it_is_a_snapshot_like_any_other() -> None:
    with ArgoCD(shop()) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING)
    assert names(snapshot) == ["argocd/quiet", "argocd/shop"]
    assert snapshot.argocd_version == "v3.6.0"
    assert snapshot.collected_at == shop().collected_at, "the server's clock, not ours"
    assert [project.ref.name for project in snapshot.projects] == ["default"]
    assert {str(live_object.ref) for live_object in snapshot.live} == {
        "Deployment shop/web",
        "Secret shop/db",
        "Pod shop/web-1",
    }
    assert [str(desired_object.ref) for desired_object in snapshot.desired["argocd/shop"]] == [
        "Deployment shop/web",
        "Secret shop/db",
        "Job shop/migrate",
    ], "hooks are in the manifests only"
    assert [entry.lines for entry in snapshot.logs] == [("panic: no database",)]
    assert snapshot.gaps == ()


def test_the_two_sides_of_a_secret_are_masked_together() -> None:
    """The manifests mask a Secret alone: every value would look equal."""
    with ArgoCD(shop()) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING)
    (desired,) = (
        desired_object.body
        for desired_object in snapshot.desired["argocd/shop"]
        if desired_object.ref.kind == "Secret"
    )
    (live_secret,) = (live_object.body for live_object in snapshot.live if live_object.ref.kind == "Secret")
    assert dig(desired, "data", "password") != dig(live_secret, "data", "password")


def test_the_health_of_rows_comes_from_the_tree() -> None:
    with ArgoCD(shop()) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING)
    (app,) = (application for application in snapshot.applications if application.ref.name == "shop")
    assert dig(app.body, "status", "resources", 0, "health", "status") in ("Healthy", "Progressing")


def test_only_reads_and_nothing_is_refreshed() -> None:
    with ArgoCD(shop()) as argocd:
        read_argocd(argocd.server(), EVERYTHING)
        read_argocd(argocd.server(), Selection(names=("shop",)))
        assert not argocd.request_count("POST|refresh=")
        assert not argocd.refreshed


@pytest.mark.parametrize("kind", ["normal", "hard"])
def test_it_is_refreshed_when_somebody_asks_for_it(kind: str) -> None:
    with ArgoCD(shop()) as argocd:
        read_argocd(
            argocd.server(), Selection(names=("shop",), refresh="hard" if kind == "hard" else "normal")
        )
        assert argocd.refreshed == [f"argocd/shop {kind}"]


@pytest.mark.parametrize("compared", ["", "2026-03-02T07:00:00Z"])
def test_questions_that_would_make_argocd_refresh_are_not_asked(compared: str) -> None:
    """Argo CD compares an app that is not in its cache, and writes the result."""
    stale = application("shop", sync="OutOfSync", compared=compared)
    with ArgoCD(of(stale)) as argocd:
        snapshot = read_argocd(argocd.server(), Selection(names=("shop",)))
        assert not argocd.request_count("resource-tree|managed-resources|/pods/|resourceUID")
    assert any("--refresh" in gap.how_to_get for gap in snapshot.gaps)


def test_an_app_with_an_error_is_asked_for_as_argocd_answers_without_a_refresh() -> None:
    broken: Object = {"conditions": [{"type": "ComparisonError", "message": "no"}], "reconciledAt": ""}
    with ArgoCD(of(application("shop", status=broken))) as argocd:
        read_argocd(argocd.server(), Selection(names=("shop",)))
        assert argocd.request_count("resource-tree")


def test_of_a_fleet_what_is_fine_is_taken_at_its_word() -> None:
    fine = [application(f"app-{at}") for at in range(30)]
    with ArgoCD(of(*fine)) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING)
        assert len(argocd.log) == 7, argocd.log
    assert len(snapshot.applications) == 30
    assert snapshot.gaps == ()


def test_everything_of_each_when_that_is_wanted() -> None:
    with ArgoCD(of(application("one"), application("two"))) as argocd:
        read_argocd(argocd.server(), EVERYTHING, everything=True)
        assert argocd.request_count("managed-resources") == 2


def test_questions_are_counted() -> None:
    with ArgoCD(of_lab("crash-loop")) as argocd:
        read_argocd(argocd.server(), Selection(names=("my-api-service",)))
        assert len(argocd.log) < 30, "\n".join(argocd.log)


def test_a_big_tree_is_not_asked_for_leaf_by_leaf() -> None:
    rows: list[Json] = [
        {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    ]
    web = obj("Deployment", "web", version="apps/v1")
    owner: Object = {
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-Deployment-web"}
        ]
    }
    pods = [obj("Pod", f"web-{at:03}", metadata=dict(owner)) for at in range(200)]
    app = application("shop", health="Degraded", status={"resources": rows})
    with ArgoCD(of(app, live=live(web, *pods))) as argocd:
        snapshot = read_argocd(argocd.server(), Selection(names=("shop",)))
        assert argocd.request_count("/resource\\?") == 80
    assert any("120 live objects" in gap.what and "--core" in gap.how_to_get for gap in snapshot.gaps)


class TestWhichApplications:
    def test_by_name_in_any_namespace(self) -> None:
        snapshot = of(
            application("shop"),
            application("shop", namespace="team-a"),
            application("web", namespace="team-b"),
        )
        with ArgoCD(snapshot) as argocd:
            assert names(read_argocd(argocd.server(), Selection(names=("shop",)))) == ["argocd/shop"]
            assert names(read_argocd(argocd.server(), Selection(names=("team-a/shop",)))) == ["team-a/shop"]
            assert names(read_argocd(argocd.server(), Selection(names=("web",)))) == ["team-b/web"]
            narrowed = Selection(names=("shop",), app_namespaces=("team-a",))
            assert names(read_argocd(argocd.server(), narrowed)) == ["team-a/shop"]

    def test_what_is_not_there_is_told_from_nothing(self) -> None:
        with ArgoCD(of(application("shop"))) as argocd, pytest.raises(NotFound) as problem:
            read_argocd(argocd.server(), Selection(names=("shpo",)))
        assert "shpo" in problem.value.what
        assert "permission denied" in problem.value.why

    def test_the_server_narrows_down(self) -> None:
        mine = application("mine", meta={"labels": {"team": "web"}}, spec={"project": "web"})
        with ArgoCD(of(mine, application("other"), projects=(project(), project("web")))) as argocd:
            by_label = read_argocd(argocd.server(), Selection(selector="team=web"))
            by_project = read_argocd(argocd.server(), Selection(projects=("web",)))
            assert argocd.request_count("selector=team%3Dweb")
        assert names(by_label) == names(by_project) == ["argocd/mine"]

    def test_one_namespace_or_all(self) -> None:
        snapshot = of(application("shop"), application("web", namespace="team-a"))
        with ArgoCD(snapshot) as argocd:
            assert names(read_argocd(argocd.server(), Selection(app_namespaces=("team-a",)))) == [
                "team-a/web"
            ]
            every = Selection(app_namespaces=("team-a",), all_namespaces=True)
            assert len(names(read_argocd(argocd.server(), every))) == 2

    def test_a_project_that_is_not_shown_is_a_gap(self) -> None:
        with ArgoCD(of(application("shop"), projects=())) as argocd:
            snapshot = read_argocd(argocd.server(), EVERYTHING)
        assert [gap.what for gap in snapshot.gaps] == ["AppProject default"]

    @pytest.mark.parametrize("name", ["shop", "argocd/shop"])
    def test_an_app_whose_project_does_not_exist_is_read_from_the_list(self, name: str) -> None:
        """Argo CD answers 400 to every request about it, but lists it."""
        with ArgoCD(of(application("shop"), application("web"), projects=())) as argocd:
            argocd.fault("/applications/shop", Fault.REJECTED)
            snapshot = read_argocd(argocd.server(), Selection(names=(name,)))
            with pytest.raises(NotFound):
                read_argocd(argocd.server(), Selection(names=("argocd/unknown",)))
        assert names(snapshot) == ["argocd/shop"]
        assert any("or the project does not exist" in gap.why for gap in snapshot.gaps)

    def test_an_app_that_the_server_fails_for_is_read_from_the_list(self) -> None:
        with ArgoCD(of(application("shop"), application("web"))) as argocd:
            argocd.fault("/applications/shop\\?|/applications/shop$", Fault.BROKEN)
            assert names(read_argocd(argocd.server(), Selection(names=("shop",)))) == ["argocd/shop"]
            with pytest.raises(ServerFailed):
                read_argocd(argocd.server(), Selection(names=("shop", "team-a/shop")))

    def test_of_several_names_one_that_is_not_shown_is_a_gap(self) -> None:
        with ArgoCD(of(application("shop"), application("web"))) as argocd:
            snapshot = read_argocd(argocd.server(), Selection(names=("web", "hidden", "shop")))
            with pytest.raises(NotFound) as problem:
                read_argocd(argocd.server(), Selection(names=("hidden", "gone")))
        assert names(snapshot) == ["argocd/web", "argocd/shop"]
        (gap,) = snapshot.gaps
        assert gap == snapshot.not_shown["hidden"]
        assert (gap.what, gap.kind) == ("Application hidden", GapKind.FORBIDDEN)
        assert "permission denied" in gap.why
        assert "hidden, gone" in problem.value.what


class TestGettingIn:
    def test_a_wrong_token(self) -> None:
        with ArgoCD(of(application("shop"))) as argocd, pytest.raises(NotAuthenticated) as problem:
            read_argocd(argocd.server(token="tok-of-nobody-77"), EVERYTHING)
        assert "tok-of-nobody" not in repr(argocd.server(token="tok-of-nobody-77"))
        assert "tok-of-nobody" not in f"{problem.value.what} {problem.value.why} {problem.value.next}"

    def test_a_token_in_a_file_is_read_again_when_it_has_expired(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text(f"{TOKEN}\n")
        with ArgoCD(of(application("shop")), token="renewed-while-it-ran") as argocd:
            argocd.when_refused = lambda: file.write_text("renewed-while-it-ran\n")
            snapshot = read_argocd(argocd.server(token="", token_file=str(file)), EVERYTHING)
        assert names(snapshot) == ["argocd/shop"]

    def test_below_a_root_path(self) -> None:
        with ArgoCD(of(application("shop")), root="/argo/cd") as argocd:
            assert names(read_argocd(argocd.server(), EVERYTHING)) == ["argocd/shop"]
            assert all(path.startswith("/argo/cd/api/") for path in argocd.log)


def test_several_clusters_keep_their_objects_apart() -> None:
    row: Object = {
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "web",
        "status": "Synced",
    }
    first = application("one", status={"resources": [dict(row)]})
    two = application(
        "two", status={"resources": [dict(row)]}, spec={"destination": {"name": "stage", "namespace": "shop"}}
    )
    with ArgoCD(of(first, two, live=live(obj("ConfigMap", "web")))) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING, everything=True)
    assert sorted(live_object.cluster for live_object in snapshot.live) == ["in-cluster", "stage"]


def test_global_projects_are_those_of_each_project() -> None:
    """The API tells which projects a project inherits from, but not by which labels."""
    labels = {"guarded": {"tenant": "yes", "team": "a"}, "free": {"team": "a"}, "plain": {}, "tenants": {}}
    projects = tuple(
        Manifest(
            {**project(name).body, "metadata": {"name": name, "namespace": "argocd", "labels": dict(own)}},
            role=Role.PROJECT,
        )
        for name, own in labels.items()
    )
    entry = "- {projectName: tenants, labelSelector: {matchExpressions: [{key: tenant, operator: Exists}]}}"
    config = obj("ConfigMap", "argocd-cm", namespace="argocd", data={"globalProjects": entry})
    apps = [application(name, spec={"project": name}) for name in ("guarded", "free", "plain")]
    scene = of(*apps, projects=projects, settings=(Manifest(config, role=Role.SETTINGS),))
    with ArgoCD(scene) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING, everything=True)
        alone = read_argocd(argocd.server(), Selection(names=("guarded",)))
        argocd.fault("/globalprojects", Fault.BROKEN)
        unread = read_argocd(argocd.server(), Selection(names=("guarded",)))
    inherits = {
        case.app.name: [parent.metadata.name for parent in case.global_projects]
        for result in (snapshot, alone)
        for case in app.cases(SnapshotIndex(result))
    }
    assert inherits == {"guarded": ["tenants"], "free": [], "plain": []}
    assert [gap.what for gap in unread.gaps] == ["the global projects of AppProject guarded"]


def test_settings_are_those_that_the_api_shows() -> None:
    lua = "hs = {}\nhs.status = 'Healthy'\nreturn hs\n"
    cm = obj(
        "ConfigMap",
        "argocd-cm",
        namespace="argocd",
        data={
            "application.resourceTrackingMethod": "label",
            "resource.customizations.health.example.com_Queue": lua,
            "resource.customizations.ignoreDifferences.apps_Deployment": "jsonPointers: [/spec/replicas]\n",
        },
    )
    with ArgoCD(of(application("shop"), settings=live(cm))) as argocd:
        snapshot = read_argocd(argocd.server(), EVERYTHING)
    (config_map,) = snapshot.settings
    data = config_map.body["data"]
    assert isinstance(data, dict)
    assert data["application.resourceTrackingMethod"] == "label"
    assert "/spec/replicas" in str(data["resource.customizations"])
    assert "hs.status" in str(data["resource.customizations"])
    assert "/status" not in str(data["resource.customizations"]), "Argo CD adds that rule by default"


def test_a_local_folder_is_the_desired_state(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 9}\n"
    )
    with ArgoCD(shop()) as argocd:
        snapshot = read_argocd(argocd.server(), Selection(names=("shop",), local=str(tmp_path)))
    (desired,) = snapshot.desired["argocd/shop"]
    assert dig(desired.body, "spec", "replicas") == 9
    assert dig(desired.body, "metadata", "annotations", "argocd.argoproj.io/tracking-id"), (
        "marked as Argo CD would"
    )
