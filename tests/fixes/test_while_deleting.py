"""No fix syncs an Application that is being deleted, or creates again what the deletion removes."""

from __future__ import annotations

from tests.situations import application, case_of, row
from whysync import app
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import SymptomKind
from whysync.fixes.follow_up import following
from whysync.fixes.while_deleting import not_while_deleting
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Ref

DEPLOYMENT = Ref(group="apps", version="v1", kind="Deployment", namespace="production", name="shop")


def deleting() -> Object:
    body = application(
        status={
            "sync": {"status": "OutOfSync", "revision": "4f1c2a9"},
            "health": {"status": "Missing"},
            "history": [{"id": 1, "revision": "4f1c2a9"}],
            "resources": [
                row("Deployment", "shop", group="apps", status="OutOfSync", health={"status": "Missing"})
            ],
            "operationState": {"phase": "Failed", "startedAt": "2026-03-02T03:00:00Z"},
        }
    )
    fields(body["metadata"])["deletionTimestamp"] = "2026-03-02T03:00:00Z"
    return body


def test_missing_objects_are_expected() -> None:
    case = case_of(deleting())
    assert not [symptom for symptom in case.symptoms if symptom.kind is SymptomKind.MISSING]
    (report,) = app.diagnose([case], prove=False).apps
    assert not [
        line
        for finding in report.findings
        for fix in finding.fixes
        for line in fix.commands
        if " sync " in line
    ]


def test_a_fix_of_a_terminating_app_has_no_syncs() -> None:
    case = case_of(deleting())
    fix = Fix.run("kubectl get pods", "argocd app sync shop --prune", title="t")
    adapted = not_while_deleting(fix, case)
    assert adapted is not None
    assert adapted.commands == ("kubectl get pods",)
    assert (
        not_while_deleting(Fix.run("argocd app sync shop", "argocd app get shop --refresh", title="t"), case)
        is None
    )
    assert not_while_deleting(Fix.remove(DEPLOYMENT, "/spec/replicas", title="t"), case) is None
    setting = Fix.application(case.application.ref, title="t")
    assert not_while_deleting(setting, case) == setting
    assert following(setting, case) == ("argocd app get shop --refresh",)


def test_as_it_is_otherwise() -> None:
    fix = Fix.run("argocd app sync shop", title="t")
    assert not_while_deleting(fix, case_of(application())) is fix
