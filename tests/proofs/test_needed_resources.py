"""Which resources move in a proof: at the bounds of few and many, and with what stands below all of them."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.json_tree import Json, Object, fields
from whysync.proofs.scope import finding_scope

FEW, MANY = 4, 40
CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {"group": "example.com", "names": {"kind": "Widget"}},
}


def drifted(count: int, *, failed: bool = False) -> Case:
    names = [f"config-{number:03}" for number in range(count)]
    app = synced(*(row("ConfigMap", name, "OutOfSync") for name in names), sync="OutOfSync")
    state = fields(fields(app["status"])["operationState"])
    if failed:
        results: list[Json] = [{**row("ConfigMap", name), "status": "SyncFailed"} for name in names[1:3]]
        fields(state["syncResult"])["resources"] = results
        state["phase"] = "Failed"
    objects = [
        obj for name in names for obj in (in_git(settings(name)), there(settings(name, data={"a": "c"})))
    ]
    return case_of(bundle(), app, in_git(CRD), *objects)


def moved(case: Case) -> list[str] | None:
    """Names of the resources that a proof about the first difference simulates."""
    drift = min(case.drifts, key=lambda drift: drift.ref.name)
    finding = Finding(
        about=drift.ref,
        explains=(drift.symptom,),
        confidence=Confidence.HIGH,
        verdict="it differs",
        evidence=(),
        fixes=(),
    )
    scope = finding_scope(case, finding)
    return sorted(key.name for key in scope) if scope is not None else None


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (FEW, None),
        (FEW + 1, ["config-000"]),
        (MANY, ["config-000"]),
        (MANY + 1, ["config-000", "widgets.example.com"]),
    ],
)
def test_few_some_and_many(count: int, names: list[str] | None) -> None:
    assert moved(drifted(count)) == names


def test_what_failed_with_it_moves_too() -> None:
    names = ["config-000", "config-001", "config-002", "widgets.example.com"]
    assert moved(drifted(MANY + 1, failed=True)) == names
    assert moved(drifted(MANY, failed=True)) is None
