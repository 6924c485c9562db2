"""All errors of an object are reported, and a CRD applies to the files that it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from whysync.diagnosis.finding import Severity
from whysync.lint.lint import lint

CRD, WIDGET = (
    (Path(__file__).with_name("cases") / "unknown_field/of_a_custom_resource/a.yaml")
    .read_text()
    .split("---\n")
)
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {a: true}
spec:
  kindOf: ClusterIP
  ports:
    - port: 80000
      name: Web_Port
    - prot: 8080
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(files: dict[str, str]) -> list[tuple[str, str, str | None]]:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
    findings = lint(["."])[0].findings
    return [(finding.path, finding.rule, finding.field) for finding in findings]


def test_values_are_checked_although_a_field_is_unknown() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {a: true}\nspec:\n"
        "  containers: [{name: web, image: 'web:1', ports: [{containerPort: 80000}]}]\n"
    )
    assert found({"a.yaml": pod}) == [
        ("a.yaml", "value_of_wrong_type", "/metadata/labels/a"),
        ("a.yaml", "value_invalid", "/spec/containers/0/ports/0/containerPort"),
    ]


def test_what_is_missing_next_to_a_misspelled_field_is_not_a_second_error() -> None:
    assert found({"a.yaml": SERVICE}) == [
        ("a.yaml", "value_of_wrong_type", "/metadata/labels/a"),
        ("a.yaml", "unknown_field", "/spec/kindOf"),
        ("a.yaml", "unknown_field", "/spec/ports/1/prot"),
    ]


def test_a_wrong_type_in_the_metadata_of_a_custom_resource_hides_nothing() -> None:
    widget = WIDGET.replace("metadata:", "metadata:\n  labels: {a: true}", 1)
    assert "labels" in widget
    rules = {(rule, field) for _, rule, field in found({"crd.yaml": CRD, "a.yaml": widget})}
    plain = {(rule, field) for _, rule, field in found({"crd.yaml": CRD, "a.yaml": WIDGET})}
    assert plain
    assert rules == plain | {("value_of_wrong_type", "/metadata/labels/a")}


@pytest.mark.parametrize(
    ("folder", "applies"),
    [("crds", True), ("samples/old", False), ("samples/new", True), ("samples/new/crds", True)],
)
def test_a_crd_of_an_example_applies_to_this_example(folder: str, applies: bool) -> None:
    reported = found({f"{folder}/crd.yaml": CRD, "samples/new/a.yaml": WIDGET, "web/b.yaml": "a: b\n"})
    assert bool(reported) is applies


@pytest.mark.parametrize(
    ("folder", "severity"),
    [("home/crds", Severity.WARNING), ("cluster/crds", Severity.CRITICAL), ("crds", Severity.CRITICAL)],
)
def test_a_crd_of_another_tree_may_not_be_the_one_of_the_cluster(folder: str, severity: Severity) -> None:
    """Without Applications nothing shows what is deployed together but the folders."""
    found({f"{folder}/crd.yaml": CRD, "cluster/apps/a.yaml": WIDGET})
    reported = {finding.severity for finding in lint(["."])[0].findings}
    assert reported == {severity}


@pytest.mark.parametrize("file", ["main.tf", "main.txt"])
def test_terraform_completes_the_files_of_a_module(file: str) -> None:
    daemon_set = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a}]}}
"""
    found({f"infra/{file}": "", "infra/config/a.yaml": daemon_set, "b.yaml": "a: b\n"})
    (finding,) = lint(["."])[0].findings
    expected = Severity.WARNING if file == "main.tf" else Severity.CRITICAL
    assert (finding.rule, finding.severity) == ("value_invalid", expected)
