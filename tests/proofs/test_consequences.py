"""What a sync does beyond the fields it writes: refused Pods, self-heal, differences without effect."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.report import ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object, fields
from whysync.proofs.sync_safety import safety_of


def verify(*objects: Object) -> Safety:
    case = case_of(*objects)
    return safety_of(case, diagnose(case, diagnosis_rules()).findings)


def reason_text(safety: Safety) -> str:
    return "; ".join(reason.text for reason in safety.reasons)


def kinds(safety: Safety) -> set[ReasonKind]:
    return {reason.kind for reason in safety.reasons}


# --- Pod Security --------------------------------------------------------------------------------


def namespace(**labels: str) -> Object:
    full_labels: Object = {f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": full_labels}}


def with_labels(before: Object, after: Object) -> Safety:
    of_namespace = {**row("Namespace", "shop", "OutOfSync"), "namespace": ""}
    workload = row("Deployment", "shop", health={"status": "Healthy"})
    live = running(deployment())
    app = synced(of_namespace, workload, sync="OutOfSync")
    return verify(bundle(), app, in_git(after), there(before), in_git(deployment()), live)


@pytest.mark.parametrize(
    ("before", "after", "refuses"),
    [
        (namespace(), namespace(enforce="restricted"), True),
        (namespace(enforce="baseline"), namespace(enforce="restricted"), True),
        (namespace(), namespace(enforce="baseline"), False),  # which the Pods comply with
        (namespace(enforce="restricted"), namespace(enforce="privileged"), False),
        (namespace(), namespace(warn="restricted"), False),
        (namespace(), namespace(enforce="strict"), False),  # no such level
    ],
)
def test_a_level_that_refuses_the_next_pods(before: Object, after: Object, refuses: bool) -> None:
    safety = with_labels(before, after)
    assert (ReasonKind.REFUSES_PODS in kinds(safety)) is refuses
    assert (safety.sync is SyncSafety.UNSAFE) is refuses
    if refuses:
        assert safety.reasons[0].text == (
            "it makes namespace shop refuse new Pods of Deployment shop/shop, which violate PodSecurity"
            " restricted; running Pods stay until they are replaced"
        )


# --- self-heal -----------------------------------------------------------------------------------


def scaled_down(automated: Json, phase: str = "Succeeded") -> Safety:
    app = synced(
        row("Deployment", "shop", "OutOfSync", health={"status": "Healthy"}),
        sync="OutOfSync",
        spec={"syncPolicy": {"automated": automated}},
    )
    fields(fields(app["status"])["operationState"])["phase"] = phase
    return verify(bundle(), app, in_git(deployment(replicas=1)), running(deployment(replicas=4)))


@pytest.mark.parametrize(
    ("automated", "phase", "heals"),
    [
        ({"selfHeal": True}, "Succeeded", True),
        ({"selfHeal": False}, "Succeeded", False),
        ({"selfHeal": True, "enabled": False}, "Succeeded", False),
        ({"selfHeal": True}, "Failed", False),  # auto-sync does not repeat a failed commit
    ],
)
def test_not_to_sync_does_not_stop_self_heal(automated: Json, phase: str, heals: bool) -> None:
    safety = scaled_down(automated, phase)
    assert safety.sync is SyncSafety.UNSAFE
    assert (ReasonKind.SELF_HEALS in kinds(safety)) is heals


# --- differences without effect ------------------------------------------------------------------


def cpu(obj: Object, value: str) -> Object:
    spec = fields(fields(fields(obj["spec"])["template"])["spec"])
    containers = spec["containers"]
    assert isinstance(containers, list)
    spec["containers"] = [{**fields(containers[0]), "resources": {"requests": {"cpu": value}}}]
    return obj


def test_equal_quantities_are_not_changed_by_a_sync() -> None:
    app = synced(row("Deployment", "shop", "OutOfSync", health={"status": "Healthy"}), sync="OutOfSync")
    live = cpu(running(deployment()), "1")
    safety = verify(bundle(), app, in_git(cpu(deployment(), "1000m")), live)
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.SUCCEEDS)
    assert reason_text(safety) == (
        "it does not help: Git and the cluster have equal values in Deployment shop/shop"
    )


def test_what_else_differs_is_still_not_known() -> None:
    """Only if all differences are of that kind: here the reported object has none."""
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    config = settings("settings")
    safety = verify(bundle(), app, in_git(config), there(config))
    assert safety.sync is SyncSafety.UNKNOWN
    assert ReasonKind.MODEL_DIFFERS in kinds(safety)


# --- a Job that its TTL deleted ------------------------------------------------------------------


def test_a_part_of_a_job_that_ran_already() -> None:
    """The API server accepted it once: what the facts leave out is not missing in Git."""
    job: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "seed", "namespace": "shop"},
        "spec": {"ttlSecondsAfterFinished": 100},
    }
    app = synced(row("Job", "seed", "OutOfSync", health={"status": "Missing"}), sync="OutOfSync")
    safety = verify(bundle(), app, in_git(job))
    assert safety.sync is SyncSafety.SAFE
    assert safety.outcome is not SyncOutcome.FAILS
    assert "it creates and runs Job shop/seed" in reason_text(safety)


# --- objects that are deleted already ------------------------------------------------------------


@pytest.mark.parametrize("terminating", [False, True])
def test_a_terminating_object_needs_no_prune(terminating: bool) -> None:
    config, old = settings("kept"), there(settings("old"))
    if terminating:
        fields(old["metadata"]).update(
            {"deletionTimestamp": "2026-03-02T03:00:00Z", "finalizers": ["example.com/clean-up"]}
        )
    extra = row("ConfigMap", "old", "OutOfSync", requiresPruning=True)
    app = synced(row("ConfigMap", "kept"), extra, sync="OutOfSync")
    safety = verify(bundle(), app, in_git(config), there(config), old)
    assert (ReasonKind.LEAVES_UNPRUNED in kinds(safety)) is not terminating


# --- a part of a Service -------------------------------------------------------------------------


def test_a_part_of_an_external_name_service_is_compared() -> None:
    def service(**spec: Json) -> Object:
        meta: Object = {"name": "ext", "namespace": "shop"}
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"type": "ExternalName", **spec},
        }

    app = synced(row("Service", "ext", "OutOfSync", health={"status": "Healthy"}), sync="OutOfSync")
    safety = verify(bundle(), app, in_git(service()), service(internalTrafficPolicy="Cluster"))
    assert ReasonKind.MODEL_DIFFERS not in kinds(safety) or "externalName" not in reason_text(safety)
    assert "Required value" not in reason_text(safety)
