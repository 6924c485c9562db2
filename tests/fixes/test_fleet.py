"""Apps that share a cause: one group, one fix for all of them, tried on each before it is offered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import application, config_map, row
from whysync import app
from whysync.diagnosis.fix import FixKind, Set
from whysync.diagnosis.report import Report
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.fixes.case_after_fix import applied
from whysync.json_tree import Json, Object, dig, fields, items
from whysync.kubernetes.api import yaml

LABEL = "/metadata/labels/mesh.example.com~1injected"
KEY = "resource.customizations.ignoreDifferences.apps_Deployment"


def deployment(namespace: str, **labels: Json) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web", **labels}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }


def member(folder: Path, name: str, desired: Object, live: Object) -> None:
    """Write one app of a fleet to a bundle."""
    body = application(
        name,
        sync="OutOfSync",
        status={"resources": [{**row("Deployment", "web", "OutOfSync"), "namespace": name}]},
    )
    fields(dig(body, "spec", "destination"))["namespace"] = name
    for directory, document in (("applications", body), (f"desired/{name}", desired), ("live", live)):
        (folder / directory).mkdir(parents=True, exist_ok=True)
        (folder / directory / f"{name}.yaml").write_text(json.dumps(document))


def managed(live: Object, manager: str, owned: Object) -> Object:
    entry: Object = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": "2026-03-02T01:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }
    fields(live["metadata"])["managedFields"] = [entry]
    return live


def relabelled(folder: Path, *names: str, manager: str = "mesh-controller") -> None:
    """Git says one value of a label, a controller writes another."""
    owned: Object = {"f:metadata": {"f:labels": {"f:mesh.example.com/injected": {}}}}
    for name in names:
        desired = deployment(name, **{"mesh.example.com/injected": "no"})
        member(
            folder,
            name,
            desired,
            managed(deployment(name, **{"mesh.example.com/injected": "yes"}), manager, owned),
        )


def settings(folder: Path, **data: Json) -> None:
    body = {**config_map("argocd-cm", data=data), "metadata": {"name": "argocd-cm", "namespace": "argocd"}}
    (folder / "settings").mkdir(parents=True, exist_ok=True)
    (folder / "settings" / "argocd-cm.yaml").write_text(json.dumps(body))


def report_of(folder: Path) -> Report:
    return app.diagnose(app.cases(app.read(app.FactSource(bundles=(str(folder),)))))


def test_one_rule_in_argocd_cm_for_all_of_them(tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two", "three")
    settings(tmp_path, a="b")
    report = report_of(tmp_path)
    (group,) = report.groups
    assert (group.cause, group.apps) == ("controller-owned", ("argocd/one", "argocd/three", "argocd/two"))
    assert group.fix is not None
    assert group.fix.kind is FixKind.SETTINGS
    assert group.checked
    (edit,) = group.fix.edits
    assert isinstance(edit, Set)
    assert edit.pointer == f"/data/{KEY}"
    assert yaml.load(str(edit.value)) == {"jsonPointers": [LABEL]}
    assert "in 3 of them Git sets the field" in group.fix.risk
    for app_report in report.apps:
        after = diagnose(applied(group.fix, app_report.case), diagnosis_rules())
        assert [f.cause for f in after.findings if f.field == LABEL] == []


def test_what_the_settings_say_already_stays(tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two")
    settings(
        tmp_path,
        **{
            "resource.customizations": "apps/Deployment:\n"
            "  ignoreDifferences: |\n    jsonPointers: [/spec/old]\n"
        },
    )
    (group,) = report_of(tmp_path).groups
    assert group.fix is not None
    (edit,) = group.fix.edits
    assert isinstance(edit, Set)
    assert yaml.load(str(edit.value)) == {"jsonPointers": ["/spec/old", LABEL]}


def test_without_argocd_cm_the_risk_says_so(tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two")
    (group,) = report_of(tmp_path).groups
    assert group.fix is not None
    assert group.fix.target is not None
    assert (group.fix.target.namespace, group.fix.target.name) == ("argocd", "argocd-cm")
    assert "not in the facts" in group.fix.risk


def test_two_writers_are_two_causes(tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two")
    relabelled(tmp_path, "three", "four", manager="another-controller")
    groups = report_of(tmp_path).groups
    assert sorted(group.apps for group in groups) == [
        ("argocd/four", "argocd/three"),
        ("argocd/one", "argocd/two"),
    ]
    assert all(manager in " ".join(group.what for group in groups) for manager in ("mesh", "another"))


def test_one_app_alone_has_no_fix_for_all(tmp_path: Path) -> None:
    relabelled(tmp_path, "one")
    (group,) = report_of(tmp_path).groups
    assert group.fix is None


def test_a_change_by_hand_is_never_ignored_for_all(tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two", manager="kubectl-edit")
    groups = report_of(tmp_path).groups
    assert [(group.cause, group.apps) for group in groups] == [
        ("manual-edit", ("argocd/one",)),
        ("manual-edit", ("argocd/two",)),
    ], "two edits are two causes"
    assert all(group.fix is None for group in groups)


def test_one_credential_for_all(tmp_path: Path) -> None:
    message = (
        "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code ="
        " Unknown desc = authentication required: Repository not found."
    )
    for name in ("one", "two"):
        body = application(
            name,
            sync="Unknown",
            status={
                "conditions": [
                    {
                        "type": "ComparisonError",
                        "message": message,
                        "lastTransitionTime": "2026-03-02T03:00:00Z",
                    }
                ]
            },
        )
        (tmp_path / f"{name}.yaml").write_text(json.dumps(body))
    (group,) = report_of(tmp_path).groups
    assert group.cause == "repo-auth"
    assert group.fix is not None
    assert not group.checked, "commands cannot be tried"
    assert not any("app get one" in command for command in group.fix.commands if not command.startswith("#"))


@pytest.mark.parametrize("format", ["text", "wide", "markdown"])
def test_the_fleet_names_the_cause_and_the_fix(whysync: Whysync, tmp_path: Path, format: str) -> None:
    relabelled(tmp_path, "one", "two", "three")
    out = whysync("list", "--bundle", str(tmp_path), "-o", format).out
    assert "3 apps, one cause: a controller (mesh-controller) owns labels.mesh.example.com/injected" in out
    assert "one fix for all" in out


def test_the_pages_end_with_what_they_have_in_common(whysync: Whysync, tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two")
    out = whysync("diagnose", "--bundle", str(tmp_path), "-o", "markdown").out
    _, _, common = out.partition("# What these apps have in common\n")
    assert "## 2 apps, one cause: a controller (mesh-controller)" in common
    assert "### One fix for all, tried on each of them: Ignore" in common
    assert KEY in common


def test_the_fix_for_all_can_be_had_alone(whysync: Whysync, tmp_path: Path) -> None:
    relabelled(tmp_path / "facts", "one", "two", "three")
    settings(tmp_path / "facts", a="b")
    arguments = ("fix", "--for-all", "--cause", "controller-owned", "--bundle", str(tmp_path / "facts"))
    result = whysync(*arguments)
    assert result.code == 0
    assert (
        "one fix for 3 apps, simulated for each of them: argocd/one, argocd/three, argocd/two" in result.out
    )
    data = fields(json.loads(whysync(*arguments, "-o", "json").out))
    assert dig(items(data["fixes"])[0], "apps") == ["argocd/one", "argocd/three", "argocd/two"]
    file = tmp_path / "checkout" / "argocd" / "cm.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "# our Argo CD\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  a: b # c\n"
    )
    wrote = whysync(*arguments, "--write", "--checkout", str(tmp_path / "checkout"))
    assert (wrote.code, wrote.err) == (0, "")
    assert file.read_text().startswith("# our Argo CD\n")
    assert "  a: b # c\n" in file.read_text()
    assert dig(yaml.load(file.read_text()), "data", KEY) == f"jsonPointers:\n- {LABEL}\n"
    assert whysync("fix", "--for-all", "--cause", "quota", "--bundle", str(tmp_path / "facts")).code == 0


def test_the_report_as_data_holds_it(whysync: Whysync, tmp_path: Path) -> None:
    relabelled(tmp_path, "one", "two")
    data = fields(json.loads(whysync("diagnose", "--bundle", str(tmp_path), "-o", "json").out))
    (group,) = items(data["groups"])
    assert dig(group, "fix", "kind") == "settings"
    assert KEY in str(dig(group, "fix", "patch"))
    assert dig(group, "checked") is True


def test_a_health_check_for_a_kind_helps_every_app_that_has_it(tmp_path: Path) -> None:
    settings(tmp_path, a="b")
    for name in ("one", "two"):
        resource = {**row("Database", "db"), "group": "db.example.com", "namespace": name}
        synced: Object = {
            "phase": "Succeeded",
            "startedAt": "2026-03-02T01:00:00Z",
            "finishedAt": "2026-03-02T01:00:05Z",
        }
        body = application(name, status={"resources": [resource], "operationState": synced})
        live: Object = {
            "apiVersion": "db.example.com/v1",
            "kind": "Database",
            "metadata": {"name": "db", "namespace": name},
            "status": {
                "conditions": [{"type": "Ready", "status": "False", "message": f"disk of {name} is full"}]
            },
        }
        for directory, document in (("applications", body), ("live", live)):
            (tmp_path / directory).mkdir(exist_ok=True)
            (tmp_path / directory / f"{name}.yaml").write_text(json.dumps(document))
    (group,) = report_of(tmp_path).groups
    assert (group.cause, group.checked) == ("no-health-check", True)
    assert group.fix is not None
    assert group.fix.kind is FixKind.SETTINGS
    assert group.what.endswith("but Argo CD has no health check for its kind: db.example.com/Database")
