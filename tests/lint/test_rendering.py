"""Charts and kustomizations: rendered where their tools are, noted where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lint.found import in_file
from whysync.argocd.repo_server.render.tools import Tool, helm, kustomize
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer
from whysync.errors import WhysyncError
from whysync.lint.lint import lint
from whysync.lint.rendered import Rendered, RenderRoot, SourcePaths, combined


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


BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n"


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        ("docs/a.yaml", Severity.INFO),
        ("design-docs/1/a.yaml", Severity.INFO),
        ("test/a.yaml", Severity.INFO),
        ("envs/test/a.yaml", Severity.CRITICAL),
        ("team/test/a.yaml", Severity.CRITICAL),  # team/prod is next to it
        ("samples/used/a.yaml", Severity.CRITICAL),
        ("web/recover/a.yaml", Severity.WARNING),  # web/kustomization.yaml does not use it
        ("samples/used/kustomized/patches/a.yaml", Severity.WARNING),
        ("web/directory/a.yaml", Severity.CRITICAL),  # an Application deploys all files of this folder
        ("plain/a.yaml", Severity.CRITICAL),
    ],
)
def test_files_that_nobody_deploys_weigh_less(
    path: str, severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "apps/used.yaml": APP.replace("path: chart", "path: samples/used"),
        "apps/directory.yaml": APP.replace("path: chart", "path: web/directory"),
        "team/prod/b.yaml": BROKEN.replace("dta", "data"),
        "samples/used/kustomized/kustomization.yaml": "resources: []\n",
        "web/kustomization.yaml": "resources: []\n",
    }
    written({**files, path: BROKEN}, tmp_path)
    findings = [finding for finding in lint(["."])[0].findings if finding.rule == "unknown_field"]
    assert [(finding.path, finding.severity) for finding in findings] == [(path, severity)]


@pytest.mark.parametrize(
    ("path", "set_path", "severity"),
    [
        ("manifests/template/base/a.yaml", "", Severity.WARNING),
        ("manifests/template/base/a.yaml", "manifests/{{ .path.basename }}", Severity.CRITICAL),
        ("manifests/web/base/a.yaml", "", Severity.CRITICAL),  # a base of what is deployed
        ("manifests/web/prod/more/a.yaml", "", Severity.CRITICAL),
        ("elsewhere/a.yaml", "", Severity.CRITICAL),  # nothing next to it is deployed
    ],
)
def test_a_folder_that_is_not_deployed_next_to_those_that_are(
    path: str, set_path: str, severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    application_set = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
        "  generators: [{list: {elements: []}}]\n  template:\n    metadata: {name: a}\n    spec:\n"
        "      project: default\n      destination: {}\n"
        f"      source: {{repoURL: 'https://git.example.com/web.git', path: '{set_path}'}}\n"
    )
    files = {
        "apps/web.yaml": APP.replace("path: chart", "path: manifests/web/prod"),
        "apps/all.yaml": application_set if set_path else "a: b\n",
        "manifests/web/prod/kustomization.yaml": "resources: [../base, more/a.yaml]\n",
        "manifests/web/base/kustomization.yaml": "resources: [a.yaml]\n",
    }
    written({**files, path: BROKEN}, tmp_path)
    findings = [finding for finding in lint(["."])[0].findings if finding.rule == "unknown_field"]
    assert [(finding.path, finding.severity) for finding in findings] == [(path, severity)]


def test_kustomize_quotes_what_only_yaml_1_1_reads_as_a_boolean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  annotations: {a: true}\ndata:\n  a: on\n  b: true\n"
    )
    written({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": config, "b.yaml": config}, tmp_path)
    findings = lint(["a.yaml", "kustomization.yaml"])[0].findings
    assert [(finding.rule, finding.field) for finding in findings] == [("value_of_wrong_type", "/data/b")]
    assert len(lint(["b.yaml"])[0].findings) == 3


@pytest.mark.skipif(not has(kustomize), reason="there is no Kustomize here")
def test_a_placeholder_that_every_overlay_replaces_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: NodePort\n"
        "  ports: [{port: 80, nodePort: later}]\n"
    )
    overlay = (
        "resources: [../base]\npatches:\n  - patch: |\n"
        "      - {op: replace, path: /spec/ports/0/nodePort, value: 30080}\n    target: {kind: Service}\n"
    )
    files = {"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": service}
    written({**files, "prod/kustomization.yaml": overlay}, tmp_path)
    assert [finding.field for finding in lint(["."])[0].findings] == ["/spec/ports/0/nodePort"]
    assert lint(["."], render=True)[0].findings == ()
    written({"dev/kustomization.yaml": "resources: [../base]\n"}, tmp_path)
    assert [finding.place for finding in lint(["."], render=True)[0].findings] == ["base/a.yaml:6"]


@pytest.mark.skipif(not has(kustomize), reason="there is no Kustomize here")
def test_an_error_that_a_patch_causes_is_in_the_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        "    - {name: side, image: 'web:1'}\n    - name: web\n      image: web:1\n      env:\n"
        "        - name: A\n          valueFrom: {fieldRef: {fieldPath: metadata.name}}\n"
    )
    patch = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n    - name: web\n"
        "      env:\n        - name: A\n          value: b\n"
    )
    files = {"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": pod, "prod/p.yaml": patch}
    overlay = "resources: [../base]\npatches: [{path: p.yaml}]\n"
    written({**files, "prod/kustomization.yaml": overlay}, tmp_path)
    findings = lint(["."], render=True)[0].findings
    assert [finding.rule for finding in findings] == ["value_invalid"]
    assert [finding.place for finding in findings] == ["prod/p.yaml:8"]


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_values_of_another_source_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sources = """\
  sources:
    - {repoURL: "https://git.example.com/web.git", path: chart, helm: {valueFiles: [$files/prod.yaml]}}
    - {repoURL: "https://git.example.com/web.git", ref: files}
"""
    app = "\n".join(line for line in APP.split("\n") if "source:" not in line) + sources
    chart = {**CHART, "chart/values.yaml": "tag: '1'\n", "chart/templates/a.yaml": FLOATING}
    written({**chart, "app.yaml": app, "prod.yaml": "tag: latest\n"}, tmp_path)
    outcome, _ = lint(["."], render=True)
    assert [note.why for note in outcome.notes] == []
    assert ("image_without_fixed_tag", "chart/templates/a.yaml", 9) in [
        (finding.rule, finding.path, finding.line) for finding in outcome.findings
    ]


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_a_chart_that_nobody_names_is_judged_by_what_values_cannot_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    template = (
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n"
        "  kindOf: ClusterIP\n  ports:\n    {{- toYaml .Values.ports | nindent 4 }}\n"
    )
    chart = {
        **CHART,
        "chart/4.12.0/Chart.yaml": CHART["chart/Chart.yaml"],
        "chart/4.12.0/values.yaml": "ports: [{port: nobody, typo: 1}]\n",
        "chart/4.12.0/templates/a.yaml": template,
    }
    del chart["chart/Chart.yaml"], chart["chart/values.yaml"], chart["chart/templates/a.yaml"]
    written(chart, tmp_path)
    found = lint(["."], render=True)[0].findings
    assert [(finding.place, finding.field) for finding in found] == [
        ("chart/4.12.0/templates/a.yaml:6", "/spec/kindOf")
    ]


@pytest.mark.parametrize(
    ("path", "used"), [("chart", ["web"]), ("./chart/", ["web"]), ("other/chart", []), ("art", [])]
)
def test_applications_name_a_chart_by_its_exact_path(
    path: str, used: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    written({**CHART, "x/chart/Chart.yaml": CHART["chart/Chart.yaml"]}, tmp_path)
    written({"app.yaml": APP.replace("path: chart", f"path: {path}")}, tmp_path)
    _, tree = lint(["."])
    apps = SourcePaths(tree, ["chart", "x/chart"], RenderRoot(["."]))
    assert [app.item.ref.name for app, _ in apps.of("chart")] == used
    assert apps.of("x/chart") == []


def test_what_the_files_show_already_is_told_once() -> None:
    plain = in_file("x.yaml", "bad", rule="a", line=3, field="/spec")
    same = in_file("x.yaml", "bad, of another name", rule="a", field="/spec")
    new = in_file("x.yaml", "worse", rule="b", field="/spec")
    more = Rendered([same, new, new], [], 0, set(), set())
    assert list(combined([plain], more, {})) == [plain, new]


def test_a_file_that_kustomizations_use_is_judged_as_they_render_it() -> None:
    replaced = in_file("x.yaml", "bad", rule="a", line=3, field="/spec")
    stays = in_file("x.yaml", "worse", rule="a", line=4, field="/data")
    other_layer = in_file("x.yaml", "risky", rule="b", line=5, field="/spec")
    elsewhere = in_file("y.yaml", "bad", rule="a", line=3, field="/spec")
    more = Rendered([], [], 0, {("a", "x.yaml", "/data")}, {"x.yaml"})
    layers = {"a": Layer.SCHEMA, "b": Layer.GITOPS}
    plain = [replaced, stays, other_layer, elsewhere]
    assert list(combined(plain, more, layers)) == [stays, other_layer, elsewhere]


SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  goTemplate: true
  generators:
    - git: {repoURL: "https://git.example.com/web.git", revision: main, files: [{path: "envs/*.yaml"}]}
  template:
    metadata: {name: "web-{{ .name }}"}
    spec:
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: web}
      source:
        repoURL: https://git.example.com/web.git
        targetRevision: v1
        path: chart
        helm: {valueFiles: ["../envs/{{ .name }}.yaml"]}
"""
REPLICAS = (
    "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n"
    "  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: a}}\n"
    "  template:\n    metadata: {labels: {app: a}}\n    spec:\n      containers: [{name: a, image: 'a:1'}]\n"
)


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_a_chart_is_rendered_with_the_values_of_generated_apps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the values of one environment are wrong, and only the ApplicationSet names them."""
    monkeypatch.chdir(tmp_path)
    files = {
        **CHART,
        "chart/templates/a.yaml": REPLICAS,
        "chart/values.yaml": "replicas: 1\n",
        "envs/dev.yaml": "name: dev\nreplicas: 2\n",
        "envs/prod.yaml": "name: prod\nreplicas: -3\n",
        "apps/set.yaml": SET,
    }
    written(files, tmp_path)
    found = [(finding.path, finding.line, finding.about.name) for finding in _criticals(".")]
    assert found == [("chart/templates/a.yaml", 6, "web-prod")]
    (tmp_path / "envs/prod.yaml").write_text("name: prod\nreplicas: 3\n")
    assert _criticals(".") == []


@pytest.mark.skipif(not has(helm), reason="there is no Helm here")
def test_values_of_another_repository_are_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n"
        "spec:\n  project: default\n"
        "  destination: {server: 'https://kubernetes.default.svc', namespace: web}\n  sources:\n"
        "    - {repoURL: 'https://git.example.com/web.git', path: chart, targetRevision: v1,"
        " helm: {valueFiles: [$values/prod.yaml]}}\n"
        "    - {repoURL: 'https://git.example.com/values.git', targetRevision: v1, ref: values}\n"
    )
    written({**CHART, "chart/templates/a.yaml": REPLICAS, "apps/web.yaml": app}, tmp_path)
    outcome, _ = lint(["."], render=True)
    notes = [(note.path, note.why, note.matters) for note in outcome.notes]
    assert ("chart", "not rendered: its values are in https://git.example.com/values.git", False) in notes
    (tmp_path / "prod.yaml").write_text("replicas: -1\n")
    assert [finding.rule for finding in _criticals(".")] == ["value_invalid"], "the file is here after all"


def _criticals(path: str) -> list[Finding]:
    findings = lint([path], render=True)[0].findings
    return [finding for finding in findings if finding.severity is Severity.CRITICAL]
