"""`whysync audit`: what others write, what has no check, what stays, hangs, is pruned or ends."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest
import yaml

from tests.cli.running import Ran, Whysync
from tests.situations import application, case_of, row
from whysync.audit.auditing import audit, audit_rules
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.facts.snapshot import GapKind
from whysync.json_tree import Json, Object, dig, fields, items, text

DESIRED: Object = {"whysync.dev/role": "desired"}
NOW = "2026-03-02T04:00:00Z"


def claim(manager: str, owned: Object, *, operation: str = "Update", subresource: str = "") -> Object:
    entry: Object = {"manager": manager, "operation": operation, "time": NOW, "fieldsType": "FieldsV1"}
    if subresource:
        entry["subresource"] = subresource
    return {**entry, "fieldsV1": owned}


def deployment(*, managers: list[Json] | None = None, desired: bool = False, **spec: Json) -> Object:
    meta: Object = {"name": "web", "namespace": "shop"}
    if desired:
        meta["annotations"] = DESIRED
    if managers is not None:
        meta["managedFields"] = managers
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"paused": False, **spec},
    }


def audited(whysync: Whysync, app: Object, *objects: Object, flags: tuple[str, ...] = ()) -> Ran:
    bundle: Object = {"apiVersion": "v1", "kind": "List", "items": [app, *objects]}
    return whysync("audit", "--bundle", "-", *flags, stdin=json.dumps(bundle).encode())


def remarks(ran: Ran) -> list[Object]:
    return [fields(load) for load in items(fields(json.loads(ran.out))["remarks"])]


ARGOCD = claim("argocd-controller", {"f:spec": {"f:paused": {}}}, operation="Apply")


@pytest.mark.parametrize("known", [True, False], ids=["Git at hand", "Git unknown"])
def test_a_controllers_field_is_proposed_as_a_narrow_rule(whysync: Whysync, known: bool) -> None:
    live = deployment(
        managers=[ARGOCD, claim("reloader", {"f:spec": {"f:minReadySeconds": {}}})], minReadySeconds=7
    )
    app = application(status={"resources": [row("Deployment", "web")]})
    ran = audited(whysync, app, live, *([deployment(desired=True)] if known else []), flags=("-o", "json"))
    (remark,) = remarks(ran)
    assert (remark["topic"], remark["severity"]) == ("writers", "info")
    assert remark["pointers"] == ["/spec/minReadySeconds"]
    patch = text(dig(remark, "fix", "patch"))
    assert "/spec/minReadySeconds" in patch
    assert '"web"' in patch or "name: web" in patch
    assert ran.code == 0


def test_what_git_declares_is_a_fight(whysync: Whysync) -> None:
    live = deployment(
        managers=[ARGOCD, claim("reloader", {"f:spec": {"f:minReadySeconds": {}}})], minReadySeconds=7
    )
    app = application(status={"resources": [row("Deployment", "web")]})
    ran = audited(whysync, app, live, deployment(desired=True, minReadySeconds=1), flags=("-o", "json"))
    (remark,) = remarks(ran)
    assert remark["severity"] == "warning"
    assert "RespectIgnoreDifferences=true" in text(dig(remark, "fix", "patch"))
    assert ran.code == 1


def test_what_people_do_is_not_hidden(whysync: Whysync) -> None:
    live = deployment(
        managers=[ARGOCD, claim("kubectl-edit", {"f:spec": {"f:minReadySeconds": {}}})], minReadySeconds=7
    )
    app = application(status={"resources": [row("Deployment", "web")]})
    (remark,) = remarks(audited(whysync, app, live, deployment(desired=True), flags=("-o", "json")))
    assert remark["severity"] == "warning"
    assert remark["fix"] is None
    assert "commit it" in text(remark["text"])


def test_what_is_ignored_or_status_or_bookkeeping_is_not_told(whysync: Whysync) -> None:
    owned: Object = {
        "f:metadata": {"f:annotations": {"f:deployment.kubernetes.io/revision": {}}, "f:finalizers": {}},
        "f:spec": {"f:minReadySeconds": {}},
    }
    live = deployment(
        managers=[
            ARGOCD,
            claim("kube-controller-manager", {"f:status": {"f:replicas": {}}}, subresource="status"),
            claim("reloader", owned),
        ],
        minReadySeconds=7,
    )
    fields(live["metadata"])["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    rule: Object = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/minReadySeconds"]}
    app = application(spec={"ignoreDifferences": [rule]}, status={"resources": [row("Deployment", "web")]})
    assert remarks(audited(whysync, app, live, deployment(desired=True), flags=("-o", "json"))) == []


def test_without_managed_fields_it_is_not_sure(whysync: Whysync) -> None:
    app = application(status={"resources": [row("Deployment", "web")]})
    ran = audited(whysync, app, deployment(minReadySeconds=7))
    assert ran.code == 3
    assert "managedFields" in ran.out


def kafka(status: str) -> Object:
    return {
        "apiVersion": "queues.example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "orders", "namespace": "shop", "managedFields": [ARGOCD]},
        "status": {"conditions": [{"type": "Ready", "status": status, "message": "so it is"}]},
    }


@pytest.mark.parametrize(("status", "health"), [("True", "Healthy"), ("False", "Degraded")])
def test_a_kind_without_a_check_gets_one_that_was_run(whysync: Whysync, status: str, health: str) -> None:
    queue = row("Queue", "orders", group="queues.example.com")
    ran = audited(whysync, application(status={"resources": [queue]}), kafka(status), flags=("-o", "json"))
    (health_remark,) = [remark for remark in remarks(ran) if remark["topic"] == "health"]
    assert f"is {health}" in text(dig(health_remark, "fix", "title"))
    assert "resource.customizations.health.queues.example.com_Queue" in text(
        dig(health_remark, "fix", "patch")
    )


def hook(**meta: Json) -> Object:
    marks: Object = {**DESIRED, "argocd.argoproj.io/hook": "PreSync", **fields(meta.pop("annotations", {}))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "shop", "annotations": marks, **meta},
        "spec": {"template": {"spec": {"containers": []}}},
    }


def test_hooks(whysync: Whysync) -> None:
    findings = remarks(audited(whysync, application(), hook(name="migrate"), flags=("-o", "json")))
    assert {text(remark["rule"]) for remark in findings} == {
        "hook_without_delete_policy",
        "hook_without_deadline",
    }
    policy: Object = {"argocd.argoproj.io/hook-delete-policy": "HookSucceeded"}
    safe_hook = hook(name="migrate", annotations=policy)
    fields(safe_hook["spec"])["activeDeadlineSeconds"] = 5
    assert remarks(audited(whysync, application(), safe_hook, flags=("-o", "json"))) == []
    (first, _) = remarks(audited(whysync, application(), hook(generateName="m-"), flags=("-o", "json")))
    assert first["severity"] == "warning"


def claim_of_storage(**annotations: Json) -> Object:
    meta: Object = {
        "name": "data",
        "namespace": "shop",
        "annotations": annotations,
        "managedFields": [ARGOCD],
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}


def test_data_that_is_pruned(whysync: Whysync) -> None:
    pruning: Object = {"syncPolicy": {"automated": {"prune": True}}}
    app = application(spec=pruning, status={"resources": [row("PersistentVolumeClaim", "data")]})
    (remark,) = remarks(audited(whysync, app, claim_of_storage(), flags=("-o", "json")))
    assert (remark["topic"], remark["severity"]) == ("data", "warning")
    assert "Prune=false" in text(dig(remark, "fix", "title"))
    safe = claim_of_storage(**{"argocd.argoproj.io/sync-options": "Prune=false"})
    assert remarks(audited(whysync, app, safe, flags=("-o", "json"))) == []
    unpruned = application(status={"resources": [row("PersistentVolumeClaim", "data")]})
    assert remarks(audited(whysync, unpruned, claim_of_storage(), flags=("-o", "json"))) == []


@pytest.mark.parametrize(
    ("ends", "severity"),
    [("2026-03-01T00:00:00Z", "critical"), ("2026-03-09T00:00:00Z", "warning"), ("2026-09-01T00:00:00Z", "")],
)
def test_certificates_that_end(whysync: Whysync, ends: str, severity: str) -> None:
    certificate: Object = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "web", "namespace": "shop", "managedFields": [ARGOCD]},
        "status": {"notAfter": ends, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    rows: list[Json] = [row("Certificate", "web", group="cert-manager.io", health={"status": "Healthy"})]
    ran = audited(whysync, application(status={"resources": rows}), certificate, flags=("-o", "json"))
    severities = [text(remark["severity"]) for remark in remarks(ran) if remark["topic"] == "expiry"]
    assert severities == ([severity] if severity else [])


def test_every_form_says_it(whysync: Whysync) -> None:
    texts = {
        format: audited(whysync, application(), hook(name="migrate"), flags=("-o", format)).out
        for format in ("text", "markdown", "yaml", "json")
    }
    assert all("no deadline" in " ".join(out.split()) for out in texts.values())
    assert yaml.safe_load(texts["yaml"]) == json.loads(texts["json"])


def test_fail_on(whysync: Whysync) -> None:
    def code(*flags: str) -> int:
        return audited(whysync, application(), hook(name="migrate"), flags=flags).code

    assert code("--fail-on", "info") == 1
    assert code("--fail-on", "info", "--exit-zero") == 0
    assert code("--fail-on", "critical") != 1


def test_junk_is_no_crash() -> None:
    """Any value in place of managedFields, conditions and annotations."""
    junk: list[Json] = [None, 7, "x", [], {}, [None], [7], {"a": None}, {"f:spec": 3}, [{"type": "Ready"}]]
    for value in junk:
        managers: list[Json] = [
            ARGOCD,
            {"manager": value, "fieldsV1": value},
            value,
            claim("reloader", {"f:spec": value}),
        ]
        live: Object = {
            "apiVersion": "queues.example.com/v1",
            "kind": "Queue",
            "metadata": {"name": "q", "namespace": "shop", "managedFields": managers, "annotations": value},
            "spec": value,
            "status": {"conditions": value, "notAfter": value},
        }
        rows: list[Json] = [row("Queue", "q", group="queues.example.com")]
        meta: Object = {"name": "q", "namespace": "shop", "annotations": DESIRED}
        desired: Object = {**live, "metadata": meta, "spec": {"a": 1}}
        for objects in ([live], [live, desired]):
            audit((case_of(application(status={"resources": rows}), *objects),))


def test_deep_objects_are_no_crash() -> None:
    deep: Json = 1
    for _ in range(60):
        deep = {"a": deep}
    live = deployment(managers=[ARGOCD, claim("reloader", {"f:spec": {"f:deep": {}}})], deep=deep)
    result = audit((case_of(application(status={"resources": [row("Deployment", "web")]}), live),))
    assert [evidence.pointer for row in result.findings for evidence in row.finding.evidence] == [
        "/spec/deep"
    ]


def test_a_rule_that_crashes_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: Case) -> Iterator[Finding]:
        raise KeyError("status")

    rule = audit_rules()["certificate_expiring"]
    broken = {rule.id: msgspec.structs.replace(rule, check=crash)}
    monkeypatch.setattr("whysync.audit.auditing.audit_rules", lambda: broken)
    result = audit((case_of(application()),))
    assert result.findings == ()
    assert [gap.what for gap in result.gaps if gap.kind is GapKind.FAILED] == [
        "certificate_expiring of argocd/shop"
    ]
