"""Charts and kustomizations: rendered where their tools are, noted where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lint.found import in_file
from whysync.argocd.repo_server.render.tools import Tool, helm, kustomize
from whysync.diagnosis.finding import Severity
from whysync.errors import WhysyncError
from whysync.lint.lint import lint
from whysync.lint.rendered import not_in_plain_files


def has(tool: Callable[[], Tool]) -> bool:
    try:
        tool()
    except WhysyncError:
        return False
    return True


CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "chart/values.yaml": "level: info\n",
    "chart/templates/a.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n"
        "dta:\n  level: {{ .Values.level }}\n"
    ),
}
OVERLAY = {
    "base/kustomization.yaml": "resources: [a.yaml]\n",
    "base/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n",
    "prod/kustomization.yaml": (
        "resources: [../base]\npatches:\n  - target: {kind: ConfigMap}\n"
        '    patch: \'[{"op": "add", "path": "/dta", "value": {}}]\'\n'
    ),
}


def written(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_what_a_chart_renders_to_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(CHART, tmp_path)
    outcome, _ = lint(["."], render=True)
    assert [(finding.rule, finding.path) for finding in outcome.findings] == [
        ("unknown_field", "chart/templates/a.yaml")
    ]
    above = lint([str(tmp_path)], render=True)[0]
    assert [finding.path for finding in above.findings] == [f"{tmp_path}/chart/templates/a.yaml"]


FLOATING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.example.com/web:{{ .Values.tag }}"}]
"""
APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/web.git", path: chart, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: web}
"""


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_default_values_that_nobody_deploys_weigh_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release sets the tag; where an Application deploys the chart as it is, nobody does."""
    monkeypatch.chdir(tmp_path)
    chart = {**CHART, "chart/values.yaml": "tag: latest\n", "chart/templates/a.yaml": FLOATING}
    written(chart, tmp_path)
    assert [finding.severity for finding in lint(["."], render=True)[0].findings] == [Severity.INFO]
    written({"app.yaml": APP}, tmp_path)
    findings = [
        finding
        for finding in lint(["."], render=True)[0].findings
        if finding.rule == "image_without_fixed_tag"
    ]
    assert [finding.severity for finding in findings] == [Severity.WARNING]


@pytest.mark.skipif(not has(kustomize), reason="there is no Kustomize here")
def test_what_an_overlay_renders_to_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(OVERLAY, tmp_path)
    assert lint(["."])[0].findings == ()
    assert [finding.rule for finding in lint(["."], render=True)[0].findings] == ["unknown_field"]


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_a_chart_that_needs_values_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    template = '{{ required "a level is required" .Values.nowhere }}\n'
    written({**CHART, "chart/templates/a.yaml": template}, tmp_path)
    outcome, _ = lint(["."], render=True)
    assert outcome.findings == ()
    assert ["a level is required" in note.why for note in outcome.notes] == [True]


def test_without_rendering_charts_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(CHART, tmp_path)
    outcome, _ = lint(["."])
    assert [(note.path, note.matters) for note in outcome.notes] == [("chart", False)]
    assert outcome.findings == ()


def test_what_the_files_show_already_is_told_once() -> None:
    plain = in_file("x.yaml", "bad", rule="a", line=3, field="/spec")
    same = in_file("x.yaml", "bad, of another name", rule="a", field="/spec")
    new = in_file("x.yaml", "worse", rule="b", field="/spec")
    assert not_in_plain_files([same, new, new], [plain]) == [new]
