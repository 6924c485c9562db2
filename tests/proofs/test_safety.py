"""Is it safe to sync now? Small worlds, each with the answer that a person would give."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proofs.worlds import (
    NOW,
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
from tests.situations import REVISION, application, case_of, row
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.report import ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.symptom import Side, SymptomId, SymptomKind
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.sync_safety import safety_of

WELL: Object = {"status": "Healthy"}
REPLICAS: Object = {"f:spec": {"f:replicas": {}}}
IMAGE: Object = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}}}}
}
DATA: Object = {"f:data": {"f:a": {}}}


def verify(*objects: Object) -> Safety:
    case = case_of(*objects)
    return safety_of(case, diagnose(case, diagnosis_rules()).findings)


def reason_text(safety: Safety) -> str:
    return "; ".join(reason.text for reason in safety.reasons)


def off(kind: str = "Deployment", name: str = "shop", **more: Json) -> Object:
    health: Object = {"health": WELL} if kind == "Deployment" else {}
    return row(kind, name, "OutOfSync", **{**health, **more})


# --- nothing to fear -----------------------------------------------------------------------------


def test_an_app_that_is_fine() -> None:
    config = settings("settings")
    safety = verify(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    assert safety.sync is SyncSafety.SAFE
    assert reason_text(safety) == "nothing differs, so it changes nothing"


def test_a_new_commit_is_rolled_out() -> None:
    live = running(deployment(replicas=3), managed=[wrote("argocd-controller", {**IMAGE, **REPLICAS})])
    app = synced(off(), sync="OutOfSync")
    fields(fields(app["status"])["sync"])["revision"] = "b" * 40
    safety = verify(bundle(), app, in_git(deployment(image="shop:2", replicas=3)), live)
    assert safety.sync is SyncSafety.SAFE
    assert reason_text(safety) == "it restarts the 3 pods of Deployment shop/shop, in a rolling update"


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("Recreate", "it restarts the 3 pods of Deployment shop/shop, all at once"),
        ("RollingUpdate", "it restarts the 3 pods of Deployment shop/shop, in a rolling update"),
    ],
)
def test_the_strategy_decides_how_pods_restart(strategy: str, text: str) -> None:
    def with_strategy(obj: Object) -> Object:
        return {**obj, "spec": {**fields(obj["spec"]), "strategy": {"type": strategy}}}

    owned: list[Json] = [wrote("argocd-controller", {**IMAGE, **REPLICAS})]
    live = running(with_strategy(deployment(replicas=3)), managed=owned)
    app = synced(off(), sync="OutOfSync")
    fields(fields(app["status"])["sync"])["revision"] = "b" * 40
    desired = in_git(with_strategy(deployment(image="shop:2", replicas=3)))
    assert reason_text(verify(bundle(), app, desired, live)).startswith(text)


@pytest.mark.parametrize("known", [True, False])
def test_a_namespace_that_an_earlier_sync_created_exists(known: bool) -> None:
    """Argo CD's API has no namespaces; facts that have others would have this one too."""
    other: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [],
    }
    rows = {
        **row("ClusterRole", "reader", "OutOfSync"),
        "group": "rbac.authorization.k8s.io",
        "namespace": "",
    }
    spec: Object = {"syncPolicy": {"syncOptions": ["CreateNamespace=true"]}}
    app = synced(rows, sync="OutOfSync", spec=spec)
    rules: Object = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    safety = verify(bundle(), app, in_git({**role, **rules}), there(role), *([there(other)] if known else []))
    assert ("it creates Namespace shop" in reason_text(safety)) is known


def test_what_is_missing_is_made() -> None:
    app = synced(off("ConfigMap", "new"), row("ConfigMap", "old"), sync="OutOfSync")
    safety = verify(bundle(), app, in_git(settings("new")), in_git(settings("old")), there(settings("old")))
    assert (safety.sync, reason_text(safety)) == (SyncSafety.SAFE, "it creates ConfigMap shop/new")


# --- somebody's work -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "sync", "when"),
    [
        ("2026-03-02T03:00:00Z", SyncSafety.UNSAFE, "11 min ago"),
        ("2026-03-02T02:12:00Z", SyncSafety.UNSAFE, "59 min ago"),
        ("2026-03-02T02:10:00Z", SyncSafety.SAFE, "61 min ago"),
        ("2026-02-20T02:00:00Z", SyncSafety.SAFE, "10 d ago"),
    ],
)
def test_work_of_a_person_counts_for_an_hour(at: str, sync: SyncSafety, when: str) -> None:
    live = there(settings("settings", data={"a": "c"}), managed=[wrote("kubectl-edit", DATA, at=at)])
    app = synced(off("ConfigMap", "settings"), sync="OutOfSync")
    safety = verify(bundle(), app, in_git(settings("settings")), live)
    assert safety.sync is sync
    expected = (
        f"it reverts /data/a of ConfigMap shop/settings (c, Git declares b), set by kubectl edit {when}"
    )
    assert reason_text(safety).startswith(expected)


@pytest.mark.parametrize("compared", [True, False])
def test_a_namespace_that_argocd_compares_is_enabled(compared: bool) -> None:
    """`application.namespaces` may also be a flag of Argo CD's programs, which the facts do not have."""
    live = there(settings("settings", data={"a": "c"}), managed=[wrote("kubectl-edit", DATA)])
    app = synced(off("ConfigMap", "settings"), sync="OutOfSync")
    fields(app["metadata"])["namespace"] = "team-a"
    status = fields(app["status"])
    status |= {"controllerNamespace": "argocd", "reconciledAt": NOW if compared else ""}
    params = settings("argocd-cmd-params-cm")
    fields(params["metadata"])["namespace"] = "argocd"
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {
            "sourceRepos": ["*"],
            "sourceNamespaces": ["team-*"],
            "destinations": [{"server": "*", "namespace": "*"}],
        },
    }
    safety = verify(bundle(), app, in_git(settings("settings")), live, params, project)
    assert safety.sync is (SyncSafety.UNSAFE if compared else SyncSafety.SAFE)


def test_pods_that_somebody_scaled_up_are_dropped() -> None:
    live = running(deployment(replicas=5), managed=[wrote("kubectl", REPLICAS, subresource="scale")])
    safety = verify(bundle(), synced(off(), sync="OutOfSync"), in_git(deployment(replicas=2)), live)
    assert safety.sync is SyncSafety.UNSAFE
    assert reason_text(safety) == (
        "it terminates 3 running pods of Deployment shop/shop "
        "(5 now, set by kubectl scale (kubectl, subresource scale) 11 min ago, Git declares 2)"
    )


def test_pods_are_dropped_though_nobody_knows_who_scaled() -> None:
    live = running(deployment(replicas=5))
    safety = verify(bundle(), synced(off(), sync="OutOfSync"), in_git(deployment(replicas=2)), live)
    assert safety.sync is SyncSafety.UNSAFE


def test_many_changes_by_hand_are_one_sentence() -> None:
    safety = verify(*large_app(60, 4))
    assert safety.sync is SyncSafety.UNSAFE
    assert reason_text(safety) == (
        "it terminates 12 running pods of Deployment shop/shop-0, Deployment shop/shop-10 and 2 more"
    )


def test_many_fields_are_one_sentence() -> None:
    data: Object = {f"key-{number}": "c" for number in range(5)}
    owned: Object = {"f:data": {f"f:{key}": {} for key in data}}
    live = there(settings("settings", data=data), managed=[wrote("kubectl-edit", owned)])
    desired = settings("settings", data=dict.fromkeys(data, "b"))
    safety = verify(bundle(), synced(off("ConfigMap", "settings"), sync="OutOfSync"), in_git(desired), live)
    assert safety.sync is SyncSafety.UNSAFE
    assert reason_text(safety).endswith("and 4 more manually changed fields")


# --- does it hold --------------------------------------------------------------------------------


def _loop(policy: Object) -> Safety:
    live = running(deployment(image="shop:9"), managed=[wrote("keel", IMAGE, at="2026-03-02T01:00:20Z")])
    app = synced(off(), sync="OutOfSync", spec={"syncPolicy": policy} if policy else None)
    return verify(bundle(), app, in_git(deployment()), live)


def test_a_loop_names_its_writer_and_the_delay_that_was_observed() -> None:
    safety = _loop({"automated": {"selfHeal": True}})
    assert safety.sync is SyncSafety.UNSAFE
    assert (
        "a controller (keel) writes the live value back after every sync, the last time after 20 s"
        in reason_text(safety)
    )


def test_without_self_heal_it_does_not_last() -> None:
    safety = _loop({})
    assert safety.sync is SyncSafety.SAFE
    assert (
        "it does not last: a controller (keel) writes the live value back, as it did 20 s after the last sync"
        in reason_text(safety)
    )


def test_an_autoscaler_brings_its_pods_back() -> None:
    hpa: Object = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
        },
        "status": {"currentReplicas": 5, "desiredReplicas": 5},
    }
    live = running(
        deployment(replicas=5), managed=[wrote("kube-controller-manager", REPLICAS, subresource="scale")]
    )
    safety = verify(bundle(), synced(off(), sync="OutOfSync"), in_git(deployment()), live, there(hpa))
    assert safety.sync is SyncSafety.UNSAFE
    assert reason_text(safety) == (
        "it terminates 3 running pods of Deployment shop/shop (5 now, Git declares 2); "
        "it does not last: HorizontalPodAutoscaler shop/shop writes the live value back"
    )


def test_a_new_custom_resource_of_which_nothing_is_known_may_hang() -> None:
    """The next wave waits for it, and nobody knows what its operator does."""
    entry: Object = {**off("Certificate", "tls", health={"status": "Missing"}), "group": "cert-manager.io"}
    entry["version"] = "v1"
    cert: Object = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "tls", "namespace": "shop"},
        "spec": {"secretName": "tls"},
    }
    later = in_git(settings("later"))
    fields(fields(later["metadata"])["annotations"])["argocd.argoproj.io/sync-wave"] = "1"
    app = synced(
        entry,
        off("ConfigMap", "later", health={"status": "Missing"}),
        row("ConfigMap", "old"),
        sync="OutOfSync",
    )
    facts = (bundle(), app, in_git(cert), later, in_git(settings("old")), there(settings("old")))
    safety = verify(*facts)
    assert safety.sync is SyncSafety.UNKNOWN
    assert reason_text(safety).startswith("whether Certificate shop/tls becomes healthy is not known")
    other: Object = {**cert, "metadata": {"name": "other", "namespace": "shop"}}
    other["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert verify(*facts, there(other)).sync is SyncSafety.SAFE


# --- what is deleted -----------------------------------------------------------------------------


def _extra(kind: str, live: Object, *, prune: bool) -> Safety:
    spec: Object = {"syncPolicy": {"automated": {"prune": True}}} if prune else {}
    rows = (row(kind, "old", "OutOfSync", requiresPruning=True), row("ConfigMap", "settings"))
    config = settings("settings")
    return verify(
        bundle(), synced(*rows, sync="OutOfSync", spec=spec), in_git(config), there(config), there(live)
    )


CLAIM: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "old", "namespace": "shop"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    "status": {"phase": "Bound"},
}


def test_a_plain_sync_prunes_nothing_whatever_auto_sync_does() -> None:
    safety = _extra("PersistentVolumeClaim", CLAIM, prune=True)
    assert safety.sync is SyncSafety.SAFE
    assert "without --prune it leaves PersistentVolumeClaim shop/old in the cluster" in reason_text(safety)
    assert "auto-sync prunes (automated.prune is true)" in reason_text(safety)


def test_without_prune_it_stays_and_that_is_said() -> None:
    safety = _extra("PersistentVolumeClaim", CLAIM, prune=False)
    assert safety.sync is SyncSafety.SAFE
    assert "without --prune it leaves PersistentVolumeClaim shop/old in the cluster" in reason_text(safety)
    assert "with --prune it deletes PersistentVolumeClaim shop/old and its data" in reason_text(safety)
    assert "auto-sync" not in reason_text(safety)


@pytest.mark.parametrize(
    ("policy", "lost"),
    [
        ("Retain", "PersistentVolumeClaim shop/old (its volume keeps the data: reclaim policy Retain)"),
        ("Delete", "PersistentVolumeClaim shop/old and its data (reclaim policy Delete)"),
        ("", "PersistentVolumeClaim shop/old and its data (unless its volume has reclaim policy Retain)"),
    ],
)
def test_the_reclaim_policy_decides_what_a_claim_loses(policy: str, lost: str) -> None:
    claim: Object = {**CLAIM, "spec": {**fields(CLAIM["spec"]), "volumeName": "pv-1"}}
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1"},
        "spec": {"persistentVolumeReclaimPolicy": policy},
    }
    rows = (
        row("PersistentVolumeClaim", "old", "OutOfSync", requiresPruning=True),
        row("ConfigMap", "settings"),
    )
    facts = (in_git(settings("settings")), there(settings("settings")), there(claim), there(volume))
    safety = verify(bundle(), synced(*rows, sync="OutOfSync"), *facts)
    assert f"with --prune it deletes {lost}" in reason_text(safety)


def test_a_hook_is_not_pruned() -> None:
    rows = (row("Job", "old", "", hook=True, requiresPruning=True), row("ConfigMap", "settings", "OutOfSync"))
    live = there(settings("settings", data={"a": "c"}))
    safety = verify(bundle(), synced(*rows, sync="OutOfSync"), in_git(settings("settings")), live)
    assert "prune" not in reason_text(safety)


def test_a_label_of_another_tool_is_no_other_application() -> None:
    """With tracking by label, any chart that sets the instance label looks like an owner."""
    label = "app.kubernetes.io/instance"
    live = there(settings("settings"))
    fields(live["metadata"])["labels"] = {label: "release"}
    cm: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {"application.resourceTrackingMethod": "label"},
    }
    app = synced(off("ConfigMap", "settings"), sync="OutOfSync")
    safety = verify(bundle(), app, cm, in_git(settings("settings")), live)
    assert "it takes over ConfigMap shop/settings, which is tracked by release" in reason_text(safety)


def test_pruning_settings_loses_nothing() -> None:
    text = reason_text(_extra("ConfigMap", settings("old"), prune=False))
    assert text.endswith("with --prune it deletes it")


def test_pods_that_a_prune_would_delete_are_counted() -> None:
    app = synced(
        off(requiresPruning=True),
        row("ConfigMap", "settings"),
        sync="OutOfSync",
        spec={"syncPolicy": {"automated": {"prune": True}}},
    )
    config = settings("settings")
    safety = verify(bundle(), app, in_git(config), there(config), running(deployment(replicas=3)))
    assert safety.sync is SyncSafety.SAFE
    assert "with --prune it deletes Deployment shop/shop with 3 running pods" in reason_text(safety)


def test_an_object_replaced_by_force_is_recreated() -> None:
    desired = in_git(deployment(image="shop:2"))
    fields(fields(desired["metadata"])["annotations"])["argocd.argoproj.io/sync-options"] = (
        "Force=true,Replace=true"
    )
    safety = verify(bundle(), synced(off(), sync="OutOfSync"), desired, running(deployment()))
    assert safety.sync is SyncSafety.UNSAFE
    assert "recreates it: its 2 running pods stop first" in reason_text(safety)


def test_an_object_replaced_by_force_is_recreated_though_nothing_differs() -> None:
    desired = in_git(deployment())
    fields(fields(desired["metadata"])["annotations"])["argocd.argoproj.io/sync-options"] = (
        "Force=true,Replace=true"
    )
    live = running(deployment())
    fields(live["metadata"])["annotations"] = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}
    app = synced(row("Deployment", "shop", health=WELL))
    safety = verify(bundle(), app, desired, live)
    assert safety.sync is SyncSafety.UNSAFE


def test_hooks_run_again_though_nothing_differs() -> None:
    hook: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "migrate",
            "namespace": "shop",
            "annotations": {"argocd.argoproj.io/hook": "PreSync", "whysync.dev/role": "desired"},
        },
        "spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "m:1"}]}}
        },
    }
    config = settings("settings")
    facts = (bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config), hook)
    safety = verify(*facts)
    assert safety.sync is SyncSafety.SAFE
    assert reason_text(safety) == (
        "nothing differs, so it changes nothing; it runs its hooks again: Job shop/migrate"
    )


# --- it does not even start ----------------------------------------------------------------------


def test_who_cannot_compare_cannot_tell() -> None:
    safety = verify(bundle(), application(sync="Unknown"))
    assert (safety.sync, reason_text(safety)) == (
        SyncSafety.UNKNOWN,
        "it would fail immediately and change nothing: Argo CD cannot compare the app",
    )


def test_an_app_that_is_being_deleted_is_not_synced() -> None:
    app = application()
    fields(app["metadata"])["deletionTimestamp"] = "2026-03-02T09:00:00Z"
    safety = verify(bundle(), app)
    assert reason_text(safety) == "Argo CD would refuse it: the Application is being deleted"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"ignoreDifferences": [{"kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]},
            "writes ignored fields",
        ),
        ({"syncPolicy": {"syncOptions": ["Replace=true"]}}, "each sync replaces all objects"),
    ],
)
def test_synced_is_not_all_that_a_sync_writes(spec: Object, expected: str) -> None:
    """Without the manifests of Git, the effect of a sync is unknown."""
    safety = verify(bundle(), application(spec=spec))
    assert safety.sync is SyncSafety.UNKNOWN
    assert expected in reason_text(safety)


def test_a_respected_ignore_rule_hides_nothing() -> None:
    rules: Object = {"kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    options: Object = {"syncOptions": ["RespectIgnoreDifferences=true"]}
    app = synced(row("ConfigMap", "a"), spec={"ignoreDifferences": [rules], "syncPolicy": options})
    assert reason_text(verify(bundle(), app)) == "nothing differs, so it changes nothing"


def test_without_manifests_nobody_knows() -> None:
    safety = verify(bundle(), synced(off("ConfigMap", "a"), sync="OutOfSync"), there(settings("a")))
    assert (safety.sync, reason_text(safety)) == (
        SyncSafety.UNKNOWN,
        "the facts have no manifests of this app",
    )


def test_a_difference_that_the_facts_do_not_show_makes_it_unknown() -> None:
    config = settings("a")
    safety = verify(bundle(), synced(off("ConfigMap", "a"), sync="OutOfSync"), in_git(config), there(config))
    assert safety.sync is SyncSafety.UNKNOWN
    assert reason_text(safety) == "the simulation does not show why ConfigMap shop/a is OutOfSync"


def test_a_closed_window_refuses() -> None:
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "syncWindows": [
                {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"]}
            ],
        },
    }
    live = there(settings("a", data={"a": "c"}))
    app = synced(off("ConfigMap", "a"), sync="OutOfSync")
    safety = verify(bundle(), project, app, in_git(settings("a")), live)
    assert (safety.sync, reason_text(safety)) == (
        SyncSafety.SAFE,
        "Argo CD would refuse it: cannot sync: blocked by sync window",
    )


# --- failing again -------------------------------------------------------------------------------


def test_what_failed_fails_again() -> None:
    message = (
        'deployments.apps "shop" is forbidden: User "system:serviceaccount:argocd:argocd" '
        'cannot patch resource "deployments" in API group "apps" in the namespace "shop"'
    )
    result: Object = {**row("Deployment", "shop", "SyncFailed"), "message": message, "hookPhase": "Failed"}
    result["syncPhase"] = "Sync"
    app = synced(off(), sync="OutOfSync")
    fields(app["status"])["operationState"] = {
        "phase": "Failed",
        "message": "one or more synchronization tasks completed unsuccessfully",
        "startedAt": NOW,
        "finishedAt": NOW,
        "operation": {"sync": {"revision": REVISION}},
        "syncResult": {"revision": REVISION, "resources": [result]},
    }
    safety = verify(bundle(), app, in_git(deployment(image="shop:2")), running(deployment()))
    assert safety.sync is SyncSafety.SAFE
    assert reason_text(safety).startswith("it fails again until the cause is fixed")


QUOTA: Object = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "team", "namespace": "shop"},
    "spec": {"hard": {"configmaps": "0"}},
    "status": {"hard": {"configmaps": "0"}, "used": {"configmaps": "0"}},
}


def _refused_by(message: str, *more: Object) -> Safety:
    """The last sync could not create a ConfigMap."""
    result: Object = {**row("ConfigMap", "new", "SyncFailed"), "message": message, "syncPhase": "Sync"}
    app = synced(off("ConfigMap", "new"), row("ConfigMap", "old"), sync="OutOfSync")
    fields(app["status"])["operationState"] = {
        "phase": "Failed",
        "message": "one or more objects failed to apply",
        "startedAt": NOW,
        "finishedAt": NOW,
        "retryCount": 4,
        "operation": {"sync": {"revision": REVISION}},
        "syncResult": {"revision": REVISION, "resources": [result]},
    }
    return verify(
        bundle(), app, in_git(settings("new")), in_git(settings("old")), there(settings("old")), *more
    )


OVER_QUOTA = (
    'configmaps "new" is forbidden: exceeded quota: team, requested: configmaps=1, used: configmaps=0,'
    " limited: configmaps=0"
)
WEBHOOK_DOWN = (
    'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post'
    ' "https://check.tools.svc:443/validate?timeout=10s": no endpoints available for service "check"'
)


@pytest.mark.parametrize("message", [OVER_QUOTA, WEBHOOK_DOWN], ids=["quota", "webhook"])
def test_a_refusal_that_may_be_over_is_not_predicted(message: str) -> None:
    safety = _refused_by(message)
    assert safety.outcome is SyncOutcome.UNKNOWN
    assert reason_text(safety) == "the last sync failed 5 times, and nothing shows that the cause is fixed"


def test_a_quota_in_the_facts_refuses_again() -> None:
    safety = _refused_by(OVER_QUOTA, there(QUOTA))
    assert safety.outcome is SyncOutcome.FAILS
    assert reason_text(safety) == "it fails again until the cause is fixed"


def test_a_denial_by_policy_is_expected_again() -> None:
    denied = 'admission webhook "validate.kyverno.svc-fail" denied the request: no label team'
    assert _refused_by(denied).outcome is SyncOutcome.FAILS


def test_a_skipped_app_does_not_start_a_sync() -> None:
    app = synced(row("ConfigMap", "settings"))
    fields(app["metadata"])["annotations"] = {"argocd.argoproj.io/skip-reconcile": "true"}
    safety = verify(bundle(), app, in_git(settings("settings")), there(settings("settings")))
    assert [reason.kind for reason in safety.reasons] == [ReasonKind.SYNC_HANGS]
    assert reason_text(safety).startswith("it would not start until the annotation skip-reconcile is removed")
    assert (safety.sync, safety.outcome) == (SyncSafety.UNKNOWN, SyncOutcome.FAILS)


# --- properties ----------------------------------------------------------------------------------


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_facts_changes_nothing(random: object) -> None:
    import random as chance

    assert isinstance(random, chance.Random)
    first, *rest = large_app(20, 1)
    random.shuffle(rest)
    assert verify(first, *rest) == _in_order()


@cache
def _in_order() -> Safety:
    return verify(*large_app(20, 1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["spec", "status", "metadata", "data"]),
    st.sampled_from(
        ["replicas", "template", "selector", "labels", "annotations", "managedFields", "a", "uid"]
    ),
    JSON,
)
def test_nonsense_in_the_facts_never_breaks_a_diagnosis(section: str, name: str, value: Json) -> None:
    live = running(deployment(replicas=5))
    live[section] = {**fields(live.get(section)), name: value}
    desired = in_git(deployment())
    if section == "spec":
        fields(desired["spec"])[name] = value
    safety = verify(bundle(), synced(off(), sync="OutOfSync"), desired, live)
    assert safety.reasons


# --- bounded by what the findings report ---------------------------------------------------------


def _reported(*, cause: str = "repo-auth", side: Side, severity: Severity, kind: SymptomKind) -> Finding:
    return Finding(
        about=Ref(kind="Application", name="shop"),
        verdict="the reason",
        confidence=Confidence.HIGH,
        severity=severity,
        side=side,
        cause=cause,
        explains=(SymptomId(kind),),
    )


@pytest.mark.parametrize(
    ("side", "kind", "expected"),
    [
        (Side.COMPARE, SymptomKind.CONDITION, (SyncSafety.UNKNOWN, ReasonKind.NOT_COMPARED)),
        (Side.APPLY, SymptomKind.OPERATION, (SyncSafety.SAFE, ReasonKind.FAILED_BEFORE)),
        (Side.APPLY, SymptomKind.EVENT, (SyncSafety.SAFE, ReasonKind.DOES_NOT_HELP)),
        (Side.HEALTH, SymptomKind.UNHEALTHY, (SyncSafety.SAFE, ReasonKind.DOES_NOT_HELP)),
    ],
)
def test_a_verdict_does_not_contradict_a_critical_finding(
    side: Side, kind: SymptomKind, expected: tuple[SyncSafety, ReasonKind]
) -> None:
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    safety = safety_of(case, [_reported(side=side, severity=Severity.CRITICAL, kind=kind)])
    assert (safety.sync, safety.reasons[0].kind) == expected
    assert (safety.outcome is SyncOutcome.SUCCEEDS) == (expected[1] is ReasonKind.DOES_NOT_HELP)


def test_news_leave_the_verdict_as_it_is() -> None:
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    news = _reported(side=Side.APPLY, severity=Severity.INFO, kind=SymptomKind.OPERATION)
    assert reason_text(safety_of(case, [news])) == "nothing differs, so it changes nothing"


def test_a_sync_that_failed_may_fail_again_though_its_manifests_are_unknown() -> None:
    state: Object = {"phase": "Failed", "message": "x", "retryCount": 5, "operation": {"sync": {}}}
    app = application(status={"operationState": state, "resources": [row("ConfigMap", "a")]})
    finding = _reported(side=Side.APPLY, severity=Severity.CRITICAL, kind=SymptomKind.OPERATION)
    safety = safety_of(case_of(bundle(), app), [finding])
    assert (safety.sync, safety.outcome) == (SyncSafety.UNKNOWN, SyncOutcome.UNKNOWN)
    assert reason_text(safety).startswith(
        "the last sync failed 6 times, and nothing shows that the cause is fixed"
    )


def test_a_window_that_was_reported_refuses_a_sync_though_the_project_is_unknown() -> None:
    app = synced(row("ConfigMap", "settings"))
    finding = _reported(
        cause="sync-window", side=Side.APPLY, severity=Severity.WARNING, kind=SymptomKind.OPERATION
    )
    safety = safety_of(case_of(bundle(), app), [finding])
    assert [reason.kind for reason in safety.reasons] == [ReasonKind.REFUSED]
    assert safety.outcome is SyncOutcome.FAILS


def test_without_resources_nothing_is_known() -> None:
    safety = verify(bundle(), application())
    assert (safety.sync, safety.reasons[0].kind) == (SyncSafety.UNKNOWN, ReasonKind.FACTS_MISSING)


def test_a_running_sync_refuses_another_one_though_the_manifests_are_unknown() -> None:
    state: Object = {"phase": "Running", "operation": {"sync": {}}, "startedAt": "2026-03-02T03:00:00Z"}
    app = application(
        sync="OutOfSync", status={"operationState": state, "resources": [off("ConfigMap", "a")]}
    )
    safety = safety_of(case_of(bundle(), app))
    assert [reason.kind for reason in safety.reasons] == [ReasonKind.SYNC_RUNNING]
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.UNKNOWN)


def test_prune_false_keeps_an_object_with_prune_too() -> None:
    config = settings("a")
    fields(config["metadata"])["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}
    extra: Object = {**off("ConfigMap", "a"), "requiresPruning": True}
    other = settings("b")
    app = synced(extra, row("ConfigMap", "b"), sync="OutOfSync")
    safety = verify(bundle(), app, there(config), in_git(other), there(other))
    assert "--prune" not in reason_text(safety)
    assert "it leaves ConfigMap shop/a in the cluster" in reason_text(safety)
