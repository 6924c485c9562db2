"""Answers that need no run of the model, or end one early: each in its own words."""

from __future__ import annotations

from msgspec.structs import replace

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import application, case_of, row, world_of
from whysync.argocd.api.git_head import Head
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.fix import Fix, Proof, ProofStatus, Set
from whysync.diagnosis.report import Safety, SyncSafety
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import Object
from whysync.proofs.fix_verifier import FixVerifier
from whysync.proofs.sync_safety import safety_of

WELL: Object = {"status": "Healthy"}


def reason_texts(safety: Safety) -> list[str]:
    return [reason.text for reason in safety.reasons]


def test_an_app_that_was_never_compared() -> None:
    safety = safety_of(case_of(bundle(), application(sync="")))
    assert (safety.sync, reason_texts(safety)) == (
        SyncSafety.UNKNOWN,
        ["Argo CD has not compared the app yet"],
    )


def test_a_commit_that_is_not_rendered_yet() -> None:
    world = world_of(bundle(), synced(row("ConfigMap", "settings")))
    head = Head(repo="https://git.example.com/shop.git", revision="main", commit="c" * 40)
    later = SnapshotIndex(replace(world.snapshot, heads=(head,)))
    safety = safety_of(Case(later, *later.decoded[0]))
    assert safety.sync is SyncSafety.UNKNOWN
    assert reason_texts(safety) == ["it would apply commit ccccccc, which Argo CD has not rendered yet"]


def test_a_sync_does_not_fix_pods() -> None:
    degraded = application(health="Degraded", status={"resources": [row("Deployment", "shop")]})
    assert reason_texts(safety_of(case_of(bundle(), degraded))) == [
        "it does not help: nothing differs, so it changes nothing"
    ]


def test_without_manifests_the_data_that_a_prune_deletes_is_named() -> None:
    claim = row("PersistentVolumeClaim", "data", "OutOfSync", requiresPruning=True)
    app = application(sync="OutOfSync", status={"resources": [claim]})
    (text,) = reason_texts(safety_of(case_of(bundle(), app)))
    assert text.startswith("the facts have no manifests of this app; with --prune it deletes")
    assert "PersistentVolumeClaim shop/data: its data" in text
    config = row("ConfigMap", "settings", "OutOfSync", requiresPruning=True)
    app = application(sync="OutOfSync", status={"resources": [config]})
    assert reason_texts(safety_of(case_of(bundle(), app))) == [
        "the facts have no manifests of this app; with --prune it deletes ConfigMap shop/settings"
    ]


def _pruned(*, address: bool) -> Safety:
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "old", "namespace": "shop"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]} if address else {}},
    }
    config = settings("settings")
    app = synced(
        row("Service", "old", "OutOfSync", requiresPruning=True),
        row("ConfigMap", "settings"),
        sync="OutOfSync",
        spec={"syncPolicy": {"automated": {"prune": True}}},
    )
    return safety_of(case_of(bundle(), app, in_git(config), there(config), there(service)))


def test_a_service_is_lost_with_its_address_only_where_it_has_one() -> None:
    lost, harmless = _pruned(address=True), _pruned(address=False)
    expected = "with --prune it deletes Service shop/old and its address is lost"
    assert any(expected in reason for reason in reason_texts(lost))
    assert any("with --prune it deletes it" in reason for reason in reason_texts(harmless))
    assert not any("is lost" in reason for reason in reason_texts(harmless))


def test_a_fix_of_symptoms_that_the_simulation_lacks_is_not_tried() -> None:
    app = synced(row("Deployment", "shop", health=WELL))
    case = case_of(bundle(), app, in_git(deployment()), running(deployment()))
    ref = case.desired[0].ref
    fix = Fix.change(ref, Set(pointer="/spec/replicas", value=3), title="More of them")
    finding = Finding(
        about=ref,
        explains=(SymptomId(SymptomKind.EVENT, detail="shop/one"),),
        confidence=Confidence.LOW,
        verdict="it",
        evidence=(),
        fixes=(fix,),
    )
    proof = FixVerifier(case).verify(finding, fix)
    assert isinstance(proof, Proof)
    assert (proof.status, proof.why) == (
        ProofStatus.NOT_RUN,
        "the simulation does not show the symptoms of this finding",
    )
