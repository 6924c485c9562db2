"""Every failure that a message can mean is used by a rule: a text is not understood and then dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.situations import ROOT, application, case_of, row
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose, explained_by
from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import Json, Object
from whysync.messages.failure import Failure, Unknown
from whysync.messages.parse import understand

SOURCES = (ROOT / "src/whysync/rules", ROOT / "src/whysync/queries", ROOT / "src/whysync/diagnosis")
# Reported by objects below a resource: `workload_degraded` quotes them as its reason, whatever they are.
BELOW_A_WORKLOAD = {
    "AnalysisFailed": 'Metric "success-rate" assessed Failed due to failed (2) > failureLimit (1)',
    "ContainerExited": "Container web failed with exit code 3",
    "ProgressDeadline": 'ReplicaSet "web-5f9" has timed out progressing.',
    "RolloutUnfinished": "Waiting for rollout to finish: 1 old replicas are pending termination...",
    "SandboxFailed": "Failed to create pod sandbox: rpc error: code = Unknown desc = no network",
}


def failure_types(base: type[Failure] = Failure) -> Iterator[str]:
    for kind in base.__subclasses__():
        yield from failure_types(kind)
        if kind is not Unknown and kind.__module__.startswith("whysync."):
            yield kind.__name__


def names_in(folder: Path) -> set[str]:
    """Without the module that tries a bare text in every place: it concludes nothing itself."""
    paths = (path for path in folder.rglob("*.py") if path.name != "possible_causes.py")
    return {name for path in paths for name in re.findall(r"\b[A-Z]\w+", path.read_text())}


def test_every_failure_has_a_rule() -> None:
    used = {name for folder in SOURCES for name in names_in(folder)}
    assert set(failure_types()) - used == set(BELOW_A_WORKLOAD)


@pytest.mark.parametrize("name", BELOW_A_WORKLOAD)
def test_what_a_pod_reports_explains_its_workload(name: str) -> None:
    message = BELOW_A_WORKLOAD[name]
    assert [type(failure).__name__ for failure in understand(message).failures] == [name]
    owner: Json = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "1"}]
    objects: tuple[Object, ...] = (
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": 1},
            "status": {"replicas": 1, "readyReplicas": 0},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": owner},
            "status": {"phase": "Pending"},
        },
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "web-1.1", "namespace": "shop"},
            "type": "Warning",
            "reason": "Unheard",
            "message": message,
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1"},
        },
    )
    rows: list[Json] = [row("StatefulSet", "web", health={"status": "Degraded"})]
    case = case_of(application(health="Degraded", status={"resources": rows}), *objects)
    assert SymptomKind.EVENT in {symptom.kind for symptom in case.symptoms}
    report = diagnose(case, diagnosis_rules())
    assert report.first is not None
    assert message in report.first.verdict
    assert explained_by(report.findings, case.symptoms) == case.symptom_ids
