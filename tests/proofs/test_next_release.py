"""A proof includes what comes later: the next release, and a writer that does or does not return."""

from __future__ import annotations

import json

import pytest

from tests.proofs.test_safety import IMAGE, REPLICAS, off
from tests.proofs.worlds import bundle, deployment, in_git, running, synced, there, wrote
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.fix import Fix, Proof, ProofStatus, Set
from whysync.diagnosis.report import ReasonKind
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.proofs.fix_verifier import FixVerifier
from whysync.proofs.proof_results import Rejected
from whysync.proofs.runs import reaches_cluster
from whysync.proofs.sync_safety import safety_of
from whysync.queries.drift import server_side_diff
from whysync.queries.ignore_rules import ignore_field

IMAGE_POINTER = "/spec/template/spec/containers/0/image"
DIGEST = f"shop:1@sha256:{'0' * 64}"


def _written(by: str, owned: Object, **live: Json) -> Case:
    """A Deployment of which another program wrote one field once."""
    image, replicas = live.get("image", "shop:1"), live.get("replicas", 2)
    assert isinstance(image, str)
    assert isinstance(replicas, int)
    managed: list[Json] = [wrote("argocd-controller", IMAGE), wrote(by, owned)]
    live_object = running(deployment(image=image, replicas=replicas), managed=managed)
    fields(live_object["metadata"])["annotations"] = {LAST_APPLIED: json.dumps(deployment())}
    return case_of(bundle(), synced(off(), sync="OutOfSync"), in_git(deployment()), live_object)


def _judged(case: Case, fix: Fix) -> Proof | Rejected:
    finding = Finding(
        about=case.drifts[0].ref,
        verdict="it differs",
        confidence=Confidence.HIGH,
        explains=tuple(drift.symptom for drift in case.drifts),
    )
    return FixVerifier(case).verify(finding, fix)


@pytest.fixture
def rewritten() -> Case:
    """An image whose tag a webhook replaced with its digest."""
    return _written("argocd-controller", IMAGE, image=DIGEST)


def test_an_ignore_rule_that_stops_releases_is_refuted(rewritten: Case) -> None:
    (drift,) = rewritten.drifts
    ignore = ignore_field(rewritten, drift.ref, drift.pointer)
    assert not reaches_cluster(rewritten, drift, ignore)
    result = _judged(rewritten, ignore)
    assert isinstance(result, Rejected)
    assert f"a later commit that changes {IMAGE_POINTER}" in result.why
    assert "later commits that change this field are not applied" in ignore.risk


def test_a_server_side_diff_lets_releases_through(rewritten: Case) -> None:
    (drift,) = rewritten.drifts
    compare = server_side_diff(rewritten, webhooks=True)
    assert reaches_cluster(rewritten, drift, compare)
    result = _judged(rewritten, compare)
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.PROVEN


def test_the_rule_compares_on_the_server_before_anything_else(rewritten: Case) -> None:
    first = diagnose(rewritten, diagnosis_rules()).first
    assert first is not None
    assert first.cause == "webhook-injected"
    assert [fix.title for fix in first.fixes] == [
        "Use server-side diff with mutation webhooks",
        "Declare in Git what the webhook writes",
    ]


def test_a_writer_seen_once_is_not_expected_to_return() -> None:
    case = _written("night-scheduler", REPLICAS, replicas=6)
    (drift,) = case.drifts
    drop = Fix.remove(drift.ref, drift.pointer, title="Let it own the field")
    result = _judged(case, drop)
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.LIKELY
    assert "if not, the sync changes it from 6 to 1" in result.why
    safety = safety_of(case)
    assert "set by an unknown writer (night-scheduler) 11 min ago" in safety.reasons[0].text
    kinds = {reason.kind for reason in safety.reasons}
    assert ReasonKind.DROPS_PODS in kinds
    assert not kinds & {ReasonKind.DOES_NOT_LAST, ReasonKind.SYNC_LOOP}


# --- an element of a list whose key was changed by hand ---------------------------------------------------


def _service(number: int, **more: Json) -> Object:
    port: Object = {"name": "http", "port": number, "targetPort": 8080, **more}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {"selector": {"app": "shop"}, "ports": [port]},
    }


@pytest.fixture
def renumbered() -> Case:
    """Somebody changed the number of the port, which is its key."""
    owned: Object = {"f:spec": {"f:ports": {'k:{"port":81,"protocol":"TCP"}': {"f:port": {}}}}}
    live = there(_service(81, protocol="TCP"), managed=[{**wrote("kubectl-edit", owned), "apiVersion": "v1"}])
    row_: Object = {**row("Service", "shop", "OutOfSync"), "group": ""}
    return case_of(bundle(), synced(row_, sync="OutOfSync"), in_git(_service(80)), live)


def test_the_new_number_of_a_port_is_set_and_the_port_not_removed(renumbered: Case) -> None:
    (drift,) = renumbered.drifts
    assert drift.pointer == "/spec/ports/0"
    finding = diagnose(renumbered, diagnosis_rules()).first
    assert finding is not None
    assert "an element of ports was removed" in finding.verdict
    edits = finding.fixes[0].edits
    assert [(edit.pointer, edit.value) for edit in edits if isinstance(edit, Set)] == [
        ("/spec/ports/0/port", 81)
    ]
    proof = FixVerifier(renumbered).verify(finding, finding.fixes[0])
    assert isinstance(proof, Proof)
    assert (proof.status, proof.why) == (ProofStatus.PROVEN, "")


def test_a_fix_that_leaves_the_object_different_in_another_way_is_refuted(renumbered: Case) -> None:
    """Without the port, Git has an empty list, which differs too."""
    (drift,) = renumbered.drifts
    removed = Fix.remove(drift.ref, drift.pointer, title="The live value is right")
    result = _judged(renumbered, removed)
    assert not (isinstance(result, Proof) and result.status is ProofStatus.PROVEN)
