"""Which objects a simulation contains: those that are affected, and what they depend on."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import THEN, bundle, deployment, in_git, running, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.facts.snapshot import GapKind
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Key
from whysync.proofs.scope import (
    Scope,
    as_manifest,
    explained_keys,
    finding_scope,
    has_replace_option,
    scope_of,
)

WELL: Object = {"status": "Healthy"}


def obj(kind: str, name: str, group: str = "", namespace: str = "shop", **more: Json) -> Object:
    version = f"{group}/v1" if group else "v1"
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def names(scope: Scope) -> list[str]:
    return sorted(manifest.ref.name for manifest in scope.desired)


def live_names(scope: Scope) -> list[str]:
    return sorted(f"{manifest.ref.kind}/{manifest.ref.name}" for manifest in scope.live)


def pair(body: Object) -> tuple[Object, Object]:
    return in_git(body), there(body)


# --- the resources of the app --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "included"),
    [
        (row("ConfigMap", "it"), False),
        (row("ConfigMap", "it", health=WELL), False),
        (row("ConfigMap", "it", "OutOfSync"), True),
        (row("ConfigMap", "it", health={"status": "Degraded"}), True),
        (row("ConfigMap", "another"), True),
    ],
)
def test_what_is_synced_and_healthy_is_left_out(entry: Object, included: bool) -> None:
    """A proof for a large app costs as much as what is wrong in it."""
    case = case_of(
        bundle(),
        synced(entry, row("ConfigMap", "wrong", "OutOfSync")),
        *pair(settings("it")),
        *pair(settings("wrong")),
    )
    scope = scope_of(case)
    assert names(scope) == (["it", "wrong"] if included else ["wrong"])
    assert scope.left_out == (0 if included else 1)
    assert names(scope_of(case, everything=True)) == ["it", "wrong"]
    touched = [Key("", "ConfigMap", "shop", "it")]
    assert names(scope_of(case, touched=touched)) == ["it", "wrong"]


def test_a_resource_that_failed_to_sync_is_included_though_it_is_synced() -> None:
    result: Object = {**row("ConfigMap", "it"), "status": "SyncFailed", "message": "no"}
    app = synced(row("ConfigMap", "it"), row("ConfigMap", "wrong", "OutOfSync"))
    state = fields(fields(app["status"])["operationState"])
    state["syncResult"] = {"revision": "a", "resources": [result]}
    case = case_of(bundle(), app, *pair(settings("it")), *pair(settings("wrong")))
    assert names(scope_of(case)) == ["it", "wrong"]


@pytest.mark.parametrize("option", ["Replace=true", "Force=true,Replace=true", "Force=true"])
def test_an_object_that_every_sync_replaces_is_included(option: str) -> None:
    """It is deleted and recreated although nothing differs, and its pods with it."""
    replaced = settings("it")
    fields(replaced["metadata"])["annotations"] = {"argocd.argoproj.io/sync-options": option}
    app = synced(row("ConfigMap", "it"), row("ConfigMap", "wrong", "OutOfSync"))
    case = case_of(bundle(), app, *pair(replaced), *pair(settings("wrong")))
    assert names(scope_of(case)) == ["it", "wrong"]
    assert [has_replace_option(manifest) for manifest in case.desired] == [True, False]


@pytest.mark.parametrize(
    ("name", "hook"), [("argocd.argoproj.io/hook", True), ("helm.sh/hook", True), ("helm.sh/other", False)]
)
def test_hooks_run_in_every_sync(name: str, hook: bool) -> None:
    body = settings("it")
    fields(body["metadata"])["annotations"] = {name: "pre-install"}
    app = synced(row("ConfigMap", "it"), row("ConfigMap", "wrong", "OutOfSync"))
    case = case_of(bundle(), app, *pair(body), *pair(settings("wrong")))
    assert ("it" in names(scope_of(case))) is hook
    only = frozenset({Key("", "ConfigMap", "shop", "wrong")})
    assert ("it" in names(scope_of(case, only=only))) is hook
    declared = {resource.manifest.ref.name: resource.is_hook for resource in case.desired_resources}
    assert declared["it"] is hook


def test_a_proof_of_one_finding_leaves_other_problems_out() -> None:
    rows = (row("ConfigMap", "a", "OutOfSync"), row("ConfigMap", "b", "OutOfSync"))
    case = case_of(bundle(), synced(*rows), *pair(settings("a")), *pair(settings("b")))
    assert names(scope_of(case, only=frozenset({Key("", "ConfigMap", "shop", "a")}))) == ["a"]
    assert names(scope_of(case)) == ["a", "b"]


def test_a_manifest_without_a_namespace_is_that_of_the_destination() -> None:
    unplaced = in_git(settings("it"))
    fields(unplaced["metadata"]).pop("namespace")
    case = case_of(bundle(), synced(row("ConfigMap", "it", "OutOfSync")), unplaced, there(settings("it")))
    scope = scope_of(case)
    assert scope.keys == {Key("", "ConfigMap", "shop", "it")}
    assert live_names(scope) == ["ConfigMap/it"]


def test_newer_versions_of_argo_cd_do_not_store_the_health() -> None:
    """Without it, whysync computes the health of the live object: a Degraded one is included."""
    live = running(deployment())
    fields(live["status"])["conditions"] = [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    ]
    fields(live["status"]).update({"readyReplicas": 0, "availableReplicas": 0})
    app = synced(row("Deployment", "shop"), row("ConfigMap", "wrong", "OutOfSync"))
    case = case_of(bundle(), app, in_git(deployment()), live, *pair(settings("wrong")))
    assert names(scope_of(case)) == ["shop", "wrong"]
    healthy = case_of(bundle(), app, in_git(deployment()), running(deployment()), *pair(settings("wrong")))
    assert names(scope_of(healthy)) == ["wrong"]


# --- what the facts lack -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "missing"),
    [
        (row("ConfigMap", "it", "OutOfSync"), False),
        (row("ConfigMap", "it", "OutOfSync", health={"status": "Missing"}), False),
        (row("ConfigMap", "it", "OutOfSync", health=WELL), True),
        (row("ConfigMap", "it", health={"status": "Degraded"}), True),
    ],
)
def test_an_object_that_argo_cd_sees_and_the_facts_lack_is_a_gap(entry: Object, missing: bool) -> None:
    """What does not exist is created; what exists and was not collected may have any content."""
    case = case_of(bundle(), synced(entry), in_git(settings("it")))
    scope = scope_of(case)
    assert names(scope) == ([] if missing else ["it"])
    if missing:
        (gap,) = scope.gaps
        assert (gap.kind, gap.what) == (GapKind.NOT_COLLECTED, "live ConfigMap shop/it")
        assert gap.how_to_get == "kubectl -n shop get configmap it -o yaml --show-managed-fields"
    else:
        assert scope.gaps == ()


def test_the_command_for_a_cluster_scoped_object_has_no_namespace() -> None:
    entry: Object = {**row("Namespace", "it", health=WELL), "status": "OutOfSync", "namespace": ""}
    case = case_of(bundle(), synced(entry), in_git(obj("Namespace", "it", namespace="")))
    assert [gap.how_to_get for gap in scope_of(case).gaps] == [
        "kubectl get namespace it -o yaml --show-managed-fields"
    ]


def test_an_object_to_prune_is_included_or_known_by_name_only() -> None:
    prune: Object = {"requiresPruning": True}
    rows = (row("ConfigMap", "old", "OutOfSync", **prune), row("ConfigMap", "gone", "OutOfSync", **prune))
    case = case_of(bundle(), synced(*rows), there(settings("old")))
    scope = scope_of(case)
    assert {key.name for key in scope.keys} == {"old", "gone"}
    assert live_names(scope) == ["ConfigMap/old"]
    assert [stub.name for stub in scope.stubs] == ["gone"]
    narrow = scope_of(case, only=frozenset({Key("", "ConfigMap", "shop", "gone")}))
    assert {key.name for key in narrow.keys} == {"gone"}


def test_a_row_without_a_manifest_is_not_pruned_in_the_simulation() -> None:
    """The manifest was not collected: the live object stands for it where something depends on it."""
    user = deployment()
    pod = fields(fields(fields(user["spec"])["template"])["spec"])
    pod["serviceAccountName"] = "robot"
    account = obj("ServiceAccount", "robot")
    app = synced(row("Deployment", "shop", "OutOfSync"), row("ServiceAccount", "robot"))
    scope = scope_of(case_of(bundle(), app, in_git(user), running(user), there(account)))
    assert [fields(body["metadata"])["name"] for body in scope.desired_from_live] == ["robot"]
    assert Key("", "ServiceAccount", "shop", "robot") in scope.keys


def test_one_healthy_object_stays_so_that_the_app_is_not_missing() -> None:
    """An app of which nothing exists is Missing, which hides the health of the others."""
    app = synced(row("ConfigMap", "new", "OutOfSync"), row("ConfigMap", "a"), row("ConfigMap", "b"))
    large = settings("b", data={"k": "v"})
    large["binaryData"] = {}
    case = case_of(bundle(), app, in_git(settings("new")), *pair(settings("a")), *pair(large))
    scope = scope_of(case)
    assert names(scope) == ["a", "new"]
    assert live_names(scope) == ["ConfigMap/a"]


# --- dependencies --------------------------------------------------------------------------------


def included(*objects: Object, app: Object | None = None) -> list[str]:
    live = running(deployment())
    app = app or synced(row("Deployment", "shop", "OutOfSync", health=WELL))
    return live_names(scope_of(case_of(bundle(), app, in_git(deployment()), live, *objects)))


def owned(body: Object, kind: str, name: str, uid: str) -> Object:
    meta = fields(body["metadata"])
    references: list[Json] = [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid}]
    return {**body, "metadata": {**meta, "ownerReferences": references}}


def test_what_it_created_is_included() -> None:
    replica_set = there(owned(obj("ReplicaSet", "shop-1", "apps"), "Deployment", "shop", "uid-shop"))
    pod = there(owned(obj("Pod", "shop-1-x"), "ReplicaSet", "shop-1", "uid-ReplicaSet-shop-1"))
    assert included(replica_set, pod, there(obj("Pod", "stranger"))) == [
        "Deployment/shop",
        "Pod/shop-1-x",
        "ReplicaSet/shop-1",
    ]


def test_what_scales_it_is_included() -> None:
    hpa = obj(
        "HorizontalPodAutoscaler",
        "scaler",
        "autoscaling",
        spec={"scaleTargetRef": {"kind": "Deployment", "name": "shop", "apiVersion": "apps/v1"}},
    )
    assert "HorizontalPodAutoscaler/scaler" in included(there({**hpa, "apiVersion": "autoscaling/v2"}))


@pytest.mark.parametrize("kind", ["ResourceQuota", "LimitRange", "ServiceAccount"])
def test_policies_of_its_namespace_are_included_and_others_are_not(kind: str) -> None:
    """The API server reads them when a pod is created: they may refuse it."""
    assert included(there(obj(kind, "it")), there(obj(kind, "other", namespace="elsewhere"))) == [
        "Deployment/shop",
        f"{kind}/it",
    ]
    assert included(there(obj("Role", "it", "rbac.authorization.k8s.io"))) == ["Deployment/shop"]


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("MutatingWebhookConfiguration", "admissionregistration.k8s.io"),
        ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io"),
        ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io"),
        ("Node", ""),
    ],
)
def test_what_admits_or_runs_its_pods_is_included(kind: str, group: str) -> None:
    assert f"{kind}/it" in included(there(obj(kind, "it", group, namespace="")))


def test_only_its_own_namespaces_are_included() -> None:
    names = included(
        there(obj("Namespace", "shop", namespace="")), there(obj("Namespace", "other", namespace=""))
    )
    assert names == ["Deployment/shop", "Namespace/shop"]


def test_a_namespace_that_the_sync_creates_is_included_though_nothing_of_the_app_is_in_it() -> None:
    role = obj("ClusterRole", "reader", "rbac.authorization.k8s.io", namespace="", rules=[])
    entry: Object = {**row("ClusterRole", "reader", "OutOfSync"), "group": "rbac.authorization.k8s.io"}
    entry["namespace"] = ""
    namespace = there(obj("Namespace", "shop", namespace=""))
    for options, expected in (([], False), (["CreateNamespace=true"], True)):
        app = synced(entry, spec={"syncPolicy": {"syncOptions": [*options]}})
        case = case_of(bundle(), app, *pair(role), namespace)
        assert ("Namespace/shop" in live_names(scope_of(case))) is expected


def test_only_crds_of_its_kinds_are_included() -> None:
    def crd(kind: str, group: str) -> Object:
        body = obj("CustomResourceDefinition", f"{kind}.{group}", "apiextensions.k8s.io", namespace="")
        return there({**body, "spec": {"group": group, "names": {"kind": kind}}})

    thing = obj("Thing", "it", "example.com")
    entry: Object = {**row("Thing", "it", "OutOfSync"), "group": "example.com"}
    case = case_of(
        bundle(),
        synced(entry),
        *pair(thing),
        crd("Thing", "example.com"),
        crd("Thing", "other.com"),
        crd("Other", "example.com"),
    )
    assert live_names(scope_of(case)) == ["CustomResourceDefinition/Thing.example.com", "Thing/it"]


def test_rbac_is_included_only_if_a_request_was_forbidden() -> None:
    role = there(obj("ClusterRole", "reader", "rbac.authorization.k8s.io", namespace=""))
    message = (
        'deployments.apps "shop" is forbidden: User "system:serviceaccount:argocd:argocd" cannot patch'
        ' resource "deployments" in API group "apps" in the namespace "shop"'
    )
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL))
    assert included(role, app=app) == ["Deployment/shop"]
    state = fields(fields(app["status"])["operationState"])
    result: Object = {**row("Deployment", "shop"), "status": "SyncFailed", "message": message}
    state |= {"phase": "Failed", "message": message, "syncResult": {"revision": "a", "resources": [result]}}
    assert included(role, app=app) == ["ClusterRole/reader", "Deployment/shop"]


@pytest.mark.parametrize("blocked", [True, False])
def test_a_terminating_namespace_is_blocked_by_objects_with_finalizers(blocked: bool) -> None:
    namespace = there(obj("Namespace", "shop", namespace=""))
    fields(namespace["metadata"])["deletionTimestamp"] = THEN
    bucket = there(obj("Bucket", "data", "example.com"))
    fields(bucket["metadata"])["finalizers"] = ["example.com/empty"] if blocked else []
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL))
    case = case_of(bundle(), app, in_git(deployment()), running(deployment()), namespace, bucket)
    scope = scope_of(case)
    assert ("Bucket/data" in live_names(scope)) is blocked
    assert [gap.what for gap in scope.gaps] == (
        [] if blocked else ["the remaining objects of Namespace shop"]
    )


def test_hooks_of_earlier_syncs_are_included() -> None:
    """A Job that still exists blocks a new one of the same name."""
    job = there(obj("Job", "migrate", "batch"))
    result: Object = {**row("Job", "migrate"), "hookType": "PreSync", "hookPhase": "Failed"}
    plain: Object = {**row("Job", "plain"), "status": "Synced"}
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL))
    fields(fields(app["status"])["operationState"])["syncResult"] = {
        "revision": "a",
        "resources": [result, plain],
    }
    assert included(job, there(obj("Job", "plain", "batch")), app=app) == ["Deployment/shop", "Job/migrate"]


def test_projects_of_an_app_of_apps_are_stored_apart_in_the_facts() -> None:
    project = obj("AppProject", "web", "argoproj.io", "argocd", spec={"sourceRepos": ["*"]})
    project["apiVersion"] = "argoproj.io/v1alpha1"
    entry: Object = {**row("AppProject", "web", "OutOfSync"), "group": "argoproj.io"}
    entry |= {"version": "v1alpha1", "namespace": "argocd"}
    case = case_of(bundle(), synced(entry), in_git(project), project)
    assert live_names(scope_of(case)) == ["AppProject/web"]


def test_a_live_object_as_a_manifest_has_only_what_somebody_declares() -> None:
    body = there(settings("it"))
    last_applied = "kubectl.kubernetes.io/last-applied-configuration"
    fields(body["metadata"]).update({"labels": {"a": "b"}, "annotations": {last_applied: "{}", "note": "x"}})
    body["status"] = {"phase": "Active"}
    assert as_manifest(body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"a": "b"},
        "metadata": {
            "name": "it",
            "namespace": "shop",
            "labels": {"a": "b"},
            "annotations": {"note": "x"},
        },
    }
    fields(body["metadata"])["annotations"] = {last_applied: "{}"}
    assert "annotations" not in fields(as_manifest(body)["metadata"])


def test_the_service_of_a_webhook_that_does_not_answer_is_included_with_its_pods() -> None:
    """Whether the webhook answers after a fix depends on the pods behind its Service."""
    message = (
        'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post'
        ' "https://hook.policy.svc:443/validate": no endpoints available for service "hook"'
    )
    selector: Object = {"app": "hook"}
    service = there(obj("Service", "hook", namespace="policy", spec={"selector": selector}))
    workload = deployment("hook")
    fields(workload["metadata"])["namespace"] = "policy"
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL))
    state = fields(fields(app["status"])["operationState"])
    result: Object = {**row("Deployment", "shop"), "status": "SyncFailed", "message": message}
    state |= {"phase": "Failed", "message": message, "syncResult": {"revision": "a", "resources": [result]}}
    names = included(service, running(workload), app=app)
    assert names == ["Deployment/hook", "Deployment/shop", "Service/hook"]
    assert included(service, running(workload)) == ["Deployment/shop"]


def test_a_hook_that_exists_does_not_stand_for_the_app() -> None:
    """Hooks have no health of the app: one of its own objects stays, or the app would be Missing."""
    job = obj("Job", "migrate", "batch", spec={})
    fields(job["metadata"])["annotations"] = {"argocd.argoproj.io/hook": "PreSync"}
    app = synced(row("ConfigMap", "new", "OutOfSync"), row("ConfigMap", "a"))
    case = case_of(bundle(), app, in_git(settings("new")), *pair(job), *pair(settings("a")))
    assert live_names(scope_of(case)) == ["ConfigMap/a", "Job/migrate"]


def test_a_cluster_scoped_manifest_has_no_namespace() -> None:
    role = obj("ClusterRole", "reader", "rbac.authorization.k8s.io", namespace="", rules=[])
    entry: Object = {**row("ClusterRole", "reader"), "group": "rbac.authorization.k8s.io", "namespace": ""}
    app = synced(entry, row("ConfigMap", "wrong", "OutOfSync"))
    case = case_of(bundle(), app, *pair(role), *pair(settings("wrong")))
    key = Key("rbac.authorization.k8s.io", "ClusterRole", "", "reader")
    assert names(scope_of(case)) == ["wrong"]
    assert key in scope_of(case, touched=[key]).keys


# --- the objects of one finding ------------------------------------------------------------------


def large(count: int, *, phase: str = "Succeeded", conditions: list[Json] | None = None) -> Case:
    entries = [row("ConfigMap", f"c-{number:02}", "OutOfSync") for number in range(count)]
    app = synced(*entries, sync="OutOfSync", conditions=conditions or [])
    fields(fields(app["status"])["operationState"])["phase"] = phase
    objects = [
        each
        for entry in entries
        for each in (
            in_git(settings(str(entry["name"]))),
            there(settings(str(entry["name"]), data={"a": "c"})),
        )
    ]
    return case_of(bundle(), app, *objects)


def about(case: Case, name: str, *symptoms: SymptomId) -> Finding:
    drifts = [drift for drift in case.drifts if drift.ref.name == name]
    explains = symptoms or tuple(drift.symptom for drift in drifts)
    return Finding(about=drifts[0].ref, verdict="it differs", confidence=Confidence.HIGH, explains=explains)


def test_the_resources_of_a_finding_are_those_whose_symptoms_it_explains() -> None:
    case = large(6)
    assert {key.name for key in explained_keys(case, about(case, "c-01"))} == {"c-01"}
    scope = finding_scope(case, about(case, "c-01"))
    assert scope is not None
    assert {key.name for key in scope} == {"c-01"}


@pytest.mark.parametrize("phase", ["Failed", "Error", "Running"])
def test_a_failing_sync_concerns_the_whole_app(phase: str) -> None:
    case = large(6, phase=phase)
    assert finding_scope(case, about(case, "c-01")) is None


def test_a_condition_concerns_all_of_the_app() -> None:
    case = large(6, conditions=[{"type": "SyncError", "message": "it is refused"}])
    condition = next(symptom.id for symptom in case.symptoms if symptom.kind is SymptomKind.CONDITION)
    assert finding_scope(case, about(case, "c-01", condition)) is None
    assert explained_keys(case, about(case, "c-01", condition)) == frozenset()


def test_owners_are_followed_five_levels_down() -> None:
    """Deployment, ReplicaSet and Pod are three; facts with a longer chain or a cycle cost no more."""
    parent = ("Deployment", "shop", "uid-shop")
    chain: list[Object] = []
    for level in range(1, 8):
        child = there(owned(obj("ConfigMap", f"level-{level}"), *parent))
        parent = ("ConfigMap", f"level-{level}", f"uid-ConfigMap-level-{level}")
        chain.append(child)
    names = [name for name in included(*chain) if name.startswith("ConfigMap")]
    assert names == [f"ConfigMap/level-{level}" for level in range(1, 6)]


@pytest.mark.parametrize("inside_list", [True, False])
def test_what_is_nested_too_deeply_to_be_compared_may_differ(inside_list: bool) -> None:
    """An ignore rule of the settings may hide a difference there: the object is simulated."""

    def nested(depth: int) -> Json:
        if not depth:
            return "x"
        return [nested(depth - 1)] if inside_list else {"a": nested(depth - 1)}

    rules: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {
            "resource.customizations.ignoreDifferences.example.com_Thing": "jqPathExpressions: [.spec.other]"
        },
    }
    entry: Object = {**row("Thing", "it"), "group": "example.com"}
    for depth, included_too in ((20, False), (80, True)):
        thing = obj("Thing", "it", "example.com", spec={"deep": nested(depth)})
        app = synced(entry, row("ConfigMap", "wrong", "OutOfSync"))
        case = case_of(bundle(), app, rules, *pair(thing), *pair(settings("wrong")))
        assert ("it" in names(scope_of(case))) is included_too
