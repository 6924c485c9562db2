"""From an API server to a Snapshot: what is read, how often it is asked, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.facts.argocd_api.scenes import of_lab
from tests.facts.kubernetes_api.fake_api import FakeApi, base64_of
from tests.facts.kubernetes_api.reading import read, serving
from tests.facts.kubernetes_api.world import LAST_APPLIED, LOGS, application, deployment, row, thing, world
from tests.facts.test_three_sources import Cluster
from whysync.app import cases, diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NotFound, UsageError
from whysync.facts.http.errors import Forbidden
from whysync.facts.kubernetes_api.read_live import is_bound
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, dig, fields


def causes(snapshot: Snapshot) -> dict[str, list[str]]:
    report = diagnose(cases(SnapshotIndex(snapshot)))
    return {app.case.app.name: [finding.rule for finding in app.findings] for app in report.apps}


def kinds(snapshot: Snapshot) -> dict[str, int]:
    result: dict[str, int] = {}
    for live_object in snapshot.live:
        result[live_object.ref.kind] = result.get(live_object.ref.kind, 0) + 1
    return result


def gaps(snapshot: Snapshot) -> str:
    return "\n".join(f"{gap.what} | {gap.why} | {gap.how_to_get}" for gap in snapshot.gaps)


def everything_in(snapshot: Snapshot) -> str:
    bodies = [
        item.body
        for group in (
            snapshot.applications,
            snapshot.projects,
            snapshot.settings,
            snapshot.live,
            snapshot.events,
            *snapshot.desired.values(),
        )
        for item in group
    ]
    result: list[object] = [snapshot.logs, snapshot.gaps, snapshot.unknown]
    return str(bodies) + str(result)


def test_a_fleet_is_read_where_something_is_wrong() -> None:
    api = FakeApi(world(), logs=LOGS)
    snapshot = read(api)
    assert [app.ref.name for app in snapshot.applications] == ["api", "fine", "web"]
    assert [project.ref.name for project in snapshot.projects] == ["default"]
    assert {setting.ref.name for setting in snapshot.settings} == {"argocd-cm", "repo"}
    assert kinds(snapshot) == {"Deployment": 2, "Namespace": 2, "Pod": 3, "ReplicaSet": 1, "Secret": 1}
    assert len(snapshot.events) == 1
    assert snapshot.collected_at is not None
    assert abs((snapshot.collected_at - datetime(2026, 3, 2, 3, 27, tzinfo=UTC)).total_seconds()) < 5
    assert not any("/calm/" in path for path in api.paths)


def test_it_is_diagnosed_as_from_a_bundle() -> None:
    result = causes(read(FakeApi(world(), logs=LOGS)))
    assert result["fine"] == []
    assert any("hand" in rule or "manual" in rule for rule in result["web"]), result
    assert result["api"], result


def test_an_app_that_is_named_is_read_whatever_its_state() -> None:
    api = FakeApi(world())
    snapshot = read(api, Selection(names=("fine",)))
    assert [app.ref.name for app in snapshot.applications] == ["fine"]
    assert kinds(snapshot)["ConfigMap"] == 1
    assert snapshot.gaps == ()
    by_place = read(FakeApi(world()), Selection(names=("argocd/fine",)))
    assert [app.ref.name for app in by_place.applications] == ["fine"]
    with pytest.raises(NotFound, match="nobody"):
        read(FakeApi(world()), Selection(names=("nobody",)))


def test_a_selection_narrows() -> None:
    labelled = world()
    app = labelled[0]
    assert isinstance(app["metadata"], dict)
    app["metadata"]["labels"] = {"team": "a"}
    assert len(read(FakeApi(labelled), Selection(selector="team=a")).applications) == 1
    assert len(read(FakeApi(world()), Selection(projects=("other",))).applications) == 0
    assert len(read(FakeApi(world()), Selection(app_namespaces=("elsewhere",))).applications) == 0


def test_the_number_of_requests_does_not_grow_with_the_number_of_apps() -> None:
    def asked(apps: int) -> int:
        objects = world()
        for number in range(apps):
            namespace = f"team-{number}"
            rows: list[Json] = [row("Deployment", "x", namespace, group="apps", status="OutOfSync")]
            objects.append(application(f"x-{number}", namespace=namespace, sync="OutOfSync", rows=rows))
            objects += [deployment("x", namespace, live=7), thing("v1", "Namespace", namespace)]
        api = FakeApi(objects)
        assert len(read(api).applications) == apps + 3
        return len(api.paths)

    few, many = asked(50), asked(400)
    assert many <= few + 3
    assert many < 60


def test_pages_are_put_together() -> None:
    api = FakeApi(world(), page=1)
    assert kinds(read(api)) == kinds(read(FakeApi(world())))


def test_an_old_server_without_aggregated_discovery() -> None:
    assert kinds(read(FakeApi(world(), aggregated=False))) == kinds(read(FakeApi(world())))


def test_logs_are_those_of_containers_that_fail_and_of_two_pods_of_an_owner() -> None:
    snapshot = read(FakeApi(world(), logs=LOGS))
    assert [(log.pod, log.previous) for log in snapshot.logs] == [
        ("api-1-0", False),
        ("api-1-0", True),
        ("api-1-1", False),
        ("api-1-1", True),
    ]
    assert snapshot.logs[0].lines[0] == "starting"
    assert read(FakeApi(world(), logs=LOGS), Selection(logs=False)).logs == ()
    refusing = FakeApi(world(), forbidden=lambda plural, _: plural == "pods/log")
    result = gaps(read(refusing))
    assert "logs of failing containers in namespace api" in result
    assert 'a Role with {apiGroups: [""], resources: [pods/log], verbs: [get]}' in result


def test_no_secret_comes_through() -> None:
    shown = everything_in(read(FakeApi(world(), logs=LOGS), everything=True))
    for secret in ("repo-password-1", "live-secret-value-1", "log-secret-value-1", "kubeconfig-token-1"):
        assert secret not in shown
        assert base64_of(secret) not in shown
    assert base64_of("https://git.example.com/x.git") in shown


# --- what may not be seen --------------------------------------------------------------------------


def test_what_is_forbidden_is_one_gap_with_the_smallest_rule() -> None:
    hidden = ("pods", "secrets", "replicasets")
    snapshot = read(FakeApi(world(), forbidden=lambda plural, _: plural in hidden), Selection(names=("api",)))
    result = gaps(snapshot)
    assert "live pods, replicasets.apps, secrets in namespace api" in result
    assert (
        'a Role with {apiGroups: [""], resources: [pods, secrets], verbs: [list]};'
        ' {apiGroups: ["apps"], resources: [replicasets], verbs: [list]}' in result
    )
    assert kinds(snapshot)["Deployment"] == 1


def test_nothing_is_missed_where_nothing_is_wrong() -> None:
    snapshot = read(
        FakeApi(world(), forbidden=lambda plural, _: plural in ("pods", "secrets", "nodes")),
        Selection(names=("fine",)),
    )
    assert snapshot.gaps == ()


def test_without_access_to_all_namespaces_each_is_listed_alone() -> None:
    objects = world()
    for number in range(10):
        team = f"team-{number}"
        rows: list[Json] = [row("Deployment", "x", team, group="apps", status="OutOfSync")]
        objects.append(application(f"x-{number}", namespace=team, sync="OutOfSync", rows=rows))
        objects.append(deployment("x", team, live=7))
    all_deployments = kinds(read(FakeApi(objects)))["Deployment"]

    def refused(plural: str, namespace: str) -> bool:
        return not namespace and plural not in ("applications", "namespaces")

    snapshot = read(FakeApi(objects, forbidden=refused))
    assert kinds(snapshot)["Deployment"] == all_deployments


def test_applications_of_one_namespace_only() -> None:
    def refused(plural: str, namespace: str) -> bool:
        return plural == "applications" and namespace != "argocd"

    assert len(read(FakeApi(world(), forbidden=refused)).applications) == 3
    assert len(read(FakeApi(world(), forbidden=refused), Selection(names=("web",))).applications) == 1
    with pytest.raises(Forbidden) as caught:
        read(FakeApi(world(), forbidden=lambda plural, _: plural == "applications"))
    assert '{apiGroups: ["argoproj.io"], resources: [applications], verbs: [list]}' in caught.value.next


def test_settings_are_read_one_by_one_where_lists_are_forbidden() -> None:
    api = FakeApi(world(), forbidden=lambda plural, _: plural == "configmaps")
    assert "configmaps" in gaps(read(api))


def test_names_that_lead_astray_are_not_asked_for() -> None:
    odd = ("..", ".", "a/b", "?x=1", "%2e%2e", "", "x" * 300, "a b", "\n")
    rows: list[Json] = [row("Namespace", item, "") for item in odd]
    rows += [row("Deployment", item, other, group="apps") for item in odd for other in odd]
    junk: list[Json] = [7, None, {"kind": []}]
    rows += junk
    bad = application("bad", sync="OutOfSync", rows=rows, destination={"namespace": "../kube-system"})
    api = FakeApi([*world(), bad])
    assert len(read(api, Selection(names=("bad",))).applications) == 1
    assert not [path for path in api.paths if ".." in path or "%" in path.partition("?")[0]]


def test_a_refresh_is_refused_for_it_would_write() -> None:
    api = FakeApi(world())
    with pytest.raises(UsageError, match="refresh"):
        read(api, Selection(names=("web",), refresh="normal"))
    assert api.paths == []


def test_a_cluster_without_argocd() -> None:
    with pytest.raises(NotFound, match="has no Argo CD"):
        read(FakeApi([], hidden_groups=("argoproj.io",)))


# --- several clusters ------------------------------------------------------------------------------


def hub(url: str, *, config: str = "{}") -> FakeApi:
    rows: list[Json] = [row("Deployment", "far", "far", group="apps", status="OutOfSync")]
    far = application(
        "far", sync="OutOfSync", rows=rows, destination={"server": f"{url}/", "namespace": "far"}
    )
    by_name = application("by-name", sync="OutOfSync", destination={"name": "stage", "namespace": "far"})
    secret = thing(
        "v1",
        "Secret",
        "stage",
        "argocd",
        labels={"argocd.argoproj.io/secret-type": "cluster"},
        data={"name": base64_of("stage"), "server": base64_of(url), "config": base64_of(config)},
    )
    return FakeApi([*world(), far, by_name, secret])


def test_other_clusters_by_the_kubeconfig() -> None:
    spoke = FakeApi([deployment("far", "far", live=9), thing("v1", "Namespace", "far")])
    with serving(spoke) as other:
        snapshot = read(hub(other.url), others={"staging": other.url})
    clusters = {
        live_object.ref.name: live_object.cluster
        for live_object in snapshot.live
        if live_object.ref.kind == "Deployment"
    }
    assert clusters == {"web": "in-cluster", "api": "in-cluster", "far": "stage"}
    assert "stage" not in gaps(snapshot)


def test_other_clusters_by_their_secret_only_when_allowed() -> None:
    spoke = FakeApi([deployment("far", "far", live=9)])
    config = '{"bearerToken": "spoke-token-12345"}'
    with serving(spoke) as other:
        snapshot = read(hub(other.url, config=config))
        assert "live objects on cluster stage" in gaps(snapshot)
        assert "--use-cluster-secrets" in gaps(snapshot)
        assert spoke.paths == []
        allowed = read(hub(other.url, config=config), use_cluster_secrets=True)
    assert "far" in {live_object.ref.name for live_object in allowed.live}
    assert "spoke-token-12345" not in everything_in(allowed)
    assert other.requests[0].headers["authorization"] == "Bearer spoke-token-12345"


def test_a_cluster_that_is_out_of_reach_is_a_gap_and_the_others_are_answered() -> None:
    with serving(FakeApi([])) as other:
        url = other.url
    snapshot = read(hub(url), others={"staging": url})
    assert "live objects on cluster stage" in gaps(snapshot)
    assert "cannot be reached" in gaps(snapshot)
    assert "web" in {live_object.ref.name for live_object in snapshot.live}
    aws = read(hub(url, config='{"awsAuthConfig": {"clusterName": "x"}}'), use_cluster_secrets=True)
    assert "its own plugin (awsAuthConfig)" in gaps(aws)


# --- what Git wants --------------------------------------------------------------------------------


def test_the_last_applied_manifests_replace_git_and_are_a_gap() -> None:
    snapshot = read(FakeApi(world()))
    (desired,) = snapshot.desired["argocd/web"]
    assert desired.spec["replicas"] == 2
    assert "the last sync" in desired.origin
    assert "rendered manifests of argocd/web" in gaps(snapshot)


def moved_on(app: Object, _: Object) -> None:
    fields(dig(app, "status", "sync"))["revision"] = "b" * 40


def applied_by_kubectl(_: Object, live: Object) -> None:
    fields(dig(live, "metadata", "managedFields", 0))["manager"] = "kubectl-client-side-apply"


def nobody_knows_who(_: Object, live: Object) -> None:
    del fields(live["metadata"])["managedFields"]


def it_agrees(_: Object, live: Object) -> None:
    fields(live["spec"])["replicas"] = 2


def it_is_broken(_: Object, live: Object) -> None:
    fields(dig(live, "metadata", "annotations"))[LAST_APPLIED] = "{broken"


@pytest.mark.parametrize(
    "change",
    [moved_on, applied_by_kubectl, nobody_knows_who, it_agrees, it_is_broken],
    ids=lambda obj: obj.__name__,
)
def test_the_last_applied_manifests_do_not_replace_git_if(change: Callable[[Object, Object], None]) -> None:
    objects = world()
    live = next(obj for obj in objects if obj["kind"] == "Deployment")
    change(objects[0], live)
    assert read(FakeApi(objects)).desired == {}


def test_a_local_folder_of_plain_yaml_is_the_desired_state(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n---\n: broken: ["
    )
    snapshot = read(FakeApi(world()), Selection(names=("web",), local=str(tmp_path)))
    (desired,) = snapshot.desired["argocd/web"]
    assert desired.ref.namespace == "shop"
    assert desired.annotations["argocd.argoproj.io/tracking-id"] == "web:apps/Deployment:shop/web"
    assert "part of web.yaml" in gaps(snapshot)


def test_the_rights_of_a_refused_account_are_read() -> None:
    other = thing("rbac.authorization.k8s.io/v1", "ClusterRole", "of-others")
    cluster = Cluster(of_lab("cluster-rbac"))
    cluster.objects.append(other)
    read_kinds = {(obj.ref.kind, obj.ref.name) for obj in read(cluster).live}
    assert {("RoleBinding", "argocd-deployer"), ("ClusterRole", "admin")} <= read_kinds
    assert ("ClusterRole", "of-others") not in read_kinds
    unrefused = {obj.ref.kind for obj in read(Cluster(of_lab("crash-loop"))).live}
    assert "RoleBinding" not in unrefused


@pytest.mark.parametrize(
    ("subject", "binds"),
    [
        ({"kind": "ServiceAccount", "name": "deployer", "namespace": "shop"}, True),
        ({"kind": "ServiceAccount", "name": "deployer", "namespace": "other"}, False),
        ({"kind": "User", "name": "system:serviceaccount:shop:deployer"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts:shop"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts:sho"}, False),
        ({"kind": "Group", "name": "system:authenticated"}, True),
        ({"kind": "Group", "name": "admins"}, False),
    ],
)
def test_a_binding_of_the_refused_account_or_of_a_group_that_it_is_in(subject: Object, binds: bool) -> None:
    assert is_bound({"subjects": [subject]}, frozenset({"system:serviceaccount:shop:deployer"})) is binds


def unhealthy(*rows: Json) -> Object:
    return application(
        "tls", sync="Synced", health="Degraded", rows=list(rows), destination={"namespace": "web"}
    )


def certificate(name: str, issuer: Object) -> Object:
    return thing("cert-manager.io/v1", "Certificate", name, "web", spec={"issuerRef": issuer})


def read_names(api: FakeApi) -> set[tuple[str, str]]:
    return {(live.ref.kind, live.ref.name) for live in read(api, Selection(names=("tls",))).live}


@pytest.mark.parametrize(
    ("issuer", "is_read"),
    [
        ({"kind": "ClusterIssuer", "name": "acme"}, True),
        ({"kind": "ClusterIssuer", "name": "acme", "group": "cert-manager.io"}, True),
        ({"kind": "Issuer", "name": "acme"}, False),
        ({"name": "acme"}, False),
        ({"kind": "ClusterIssuer", "name": "../acme"}, False),
        ({"kind": ["ClusterIssuer"], "name": {"a": 1}}, False),
    ],
)
def test_what_a_custom_resource_refers_to_is_read(issuer: Object, *, is_read: bool) -> None:
    app = unhealthy(row("Certificate", "web", "web", group="cert-manager.io"))
    others = [thing("cert-manager.io/v1", "ClusterIssuer", name) for name in ("acme", "of-others")]
    api = FakeApi([app, certificate("web", issuer), *others])
    names = read_names(api)
    assert (("ClusterIssuer", "acme") in names) is is_read
    assert ("ClusterIssuer", "of-others") not in names
    assert not [path for path in api.paths if ".." in path]


def test_attachments_of_waiting_pods_and_policies_are_read_where_allowed() -> None:
    pod = thing("v1", "Pod", "db-0", "web", spec={"nodeName": "node-1"}, status={"phase": "Pending"})
    claim = thing("v1", "PersistentVolumeClaim", "data", "web", spec={"volumeName": "pv-1"})
    attached = [
        thing(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            f"csi-{volume}",
            spec={"source": {"persistentVolumeName": volume}},
        )
        for volume in ("pv-1", "pv-2")
    ]
    policy = thing("kyverno.io/v1", "ClusterPolicy", "add-labels")
    objects = [unhealthy(row("Pod", "db-0", "web")), pod, claim, *attached, policy]
    names = read_names(FakeApi(objects))
    assert {("VolumeAttachment", "csi-pv-1"), ("ClusterPolicy", "add-labels")} <= names
    assert ("VolumeAttachment", "csi-pv-2") not in names
    refused = ("volumeattachments", "clusterpolicies")
    api = FakeApi(objects, forbidden=lambda plural, _: plural in refused)
    snapshot = read(api, Selection(names=("tls",)))
    assert not {"VolumeAttachment", "ClusterPolicy"} & {live.ref.kind for live in snapshot.live}
    assert "clusterpolicies" not in gaps(snapshot)
