"""The verdict on cases of the rules: one of each sort, in the words that people read."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import THEN, bundle, in_git, settings, synced, there
from tests.rules.bench import HERE, load_case
from tests.situations import case_of, row
from whysync.diagnosis.report import ReasonKind, Safety, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Object
from whysync.proofs.sync_safety import safety_of

SAFE, UNSAFE, UNKNOWN = SyncSafety.SAFE, SyncSafety.UNSAFE, SyncSafety.UNKNOWN
CASES = {
    "drift/nondeterministic_rendering/random_password": (
        UNSAFE,
        "it replaces /data/password of Secret web/shop with the value that is rendered now",
    ),
    "drift/shared_resource/the_other_one_applied_last": (
        UNSAFE,
        "it takes over ConfigMap internal/company-ca from Application wiki, and overwrites its /data/issuer",
    ),
    "drift/mutated_by_webhook/tag_replaced_by_digest": (
        SAFE,
        "it does not help: a mutating webhook changes the field back immediately",
    ),
    "drift/unknown_field_dropped/misspelt_in_a_deployment": (
        SAFE,
        "it does not help: the API server changes the field back immediately",
    ),
    "drift/equivalent_value/null_in_a_claim_template": (
        SAFE,
        "it does not help: Git and the cluster have equal values in StatefulSet web/db",
    ),
    "drift/api_server_default/nothing_but_an_empty_map": (
        SAFE,
        "it does not help: the API server sets its default again in Deployment web/shop",
    ),
    "drift/job_deleted_by_ttl/job_with_ttl": (
        SAFE,
        "it does not last: Job web/seed is deleted again",
    ),
    "drift/ignored_but_still_applied/autoscaler_writes_it_back": (
        UNSAFE,
        "it terminates 3 running pods of Deployment web/shop (5 now, set by an autoscaler",
    ),
    "drift/ignored_but_still_applied/respected": (SAFE, "nothing differs, so it changes nothing"),
    "drift/aggregated_cluster_role/git_has_other_rules": (
        SAFE,
        "it does not last: the controller that aggregates roles writes the live value back",
    ),
    "drift/manual_edit/image_edited_in_an_incident": (
        UNSAFE,
        "it reverts /spec/template/spec/containers/0/image of Deployment web/shop"
        " (registry.example.com/shop:0.9, Git declares registry.example.com/shop:1.0),"
        " set by kubectl edit 60 s ago",
    ),
    "drift/deleted_from_cluster/config_map_gone": (SAFE, "it creates ConfigMap web/shop"),
    "apply/hook_failed/database_refuses": (
        SAFE,
        "it fails again until the cause is fixed",
    ),
    "apply/immutable_field_changed/selector_renamed": (
        SAFE,
        "it fails again until the cause is fixed",
    ),
    "apply/hook_stuck/waits_for_a_lock": (
        SAFE,
        "a sync is already running; Argo CD refuses another one until it ends",
    ),
    "apply/quota_exceeded/room_by_now": (SAFE, "it creates Service chat/chat"),
    "apply/namespace_missing/there_by_now": (SAFE, "it creates ConfigMap onboarding-eu/onboarding"),
}


def verify(*objects: Object) -> Safety:
    case = case_of(*objects)
    return safety_of(case, diagnose(case, diagnosis_rules()).findings)


@pytest.mark.parametrize("name", sorted(CASES))
def test_verdict(name: str) -> None:
    sync, expected = CASES[name]
    case = load_case(HERE / name)
    safety = safety_of(case, diagnose(case, diagnosis_rules()).findings)
    assert (safety.sync, safety.reasons[0].text[: len(expected)]) == (sync, expected)
    assert all(reason.text for reason in safety.reasons)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "old", "namespace": "shop"},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
                "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}},
            },
            "it deletes Service shop/old and its address is lost",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "old", "namespace": "shop"},
                "data": {"a": "Yg=="},
            },
            "it deletes Secret shop/old and its data",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "old", "creationTimestamp": THEN},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            },
            "it deletes Namespace old and everything in it",
        ),
    ],
)
def test_what_is_lost_with_it(obj: Object, expected: str) -> None:
    meta = obj["metadata"]
    assert isinstance(meta, dict)
    api = str(obj["apiVersion"])
    extra: Object = {
        **row(str(obj["kind"]), str(meta["name"]), "OutOfSync", requiresPruning=True),
        "group": api.rpartition("/")[0],
        "version": api.rpartition("/")[2],
        "namespace": meta.get("namespace", ""),
    }
    config = settings("settings")
    app = synced(
        extra,
        row("ConfigMap", "settings"),
        sync="OutOfSync",
        spec={"syncPolicy": {"automated": {"prune": True}}},
    )
    safety = verify(bundle(), app, in_git(config), there(config), there(obj))
    (unpruned,) = [reason for reason in safety.reasons if reason.kind is ReasonKind.LEAVES_UNPRUNED]
    assert (safety.sync, unpruned.refs[0].kind) == (SAFE, obj["kind"])
    assert f"with --prune {expected}" in unpruned.text


def test_a_rename_does_not_delete_all_of_the_app() -> None:
    extra = row("ConfigMap", "old", "OutOfSync", requiresPruning=True)
    new = row("ConfigMap", "new", "OutOfSync", health={"status": "Missing"})
    app = synced(extra, new, sync="OutOfSync", spec={"syncPolicy": {"automated": {"prune": True}}})
    desired = in_git(settings("new"))
    safety = verify(bundle(), app, desired, there(settings("old")))
    assert safety.sync is SAFE
    assert not any("everything" in reason.text for reason in safety.reasons)


def test_an_empty_source_deletes_everything_with_prune_only() -> None:
    extra = row("ConfigMap", "old", "OutOfSync", requiresPruning=True)
    app = synced(extra, sync="OutOfSync", spec={"syncPolicy": {"automated": {"prune": True}}})
    elsewhere = in_git(settings("elsewhere"))
    safety = verify(bundle(), app, elsewhere, there(settings("old")))
    assert safety.sync is SAFE
    expected = "with --prune it deletes everything that the app has (1 object)"
    assert any(expected in reason.text for reason in safety.reasons)
