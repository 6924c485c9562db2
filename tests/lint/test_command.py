"""`whysync lint` as people and pipelines call it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.clock import processor_seconds

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  LEVEL: info\n"
BAD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    # keep me
    argocd.argoproj.io/sync-wave: 1
dta:
  LEVEL: info
"""
FLOATS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:latest
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(out: str) -> list[dict[str, object]]:
    return json.loads(out)["findings"]


def test_good_files_are_quiet(whysync: Whysync) -> None:
    Path("a.yaml").write_text(GOOD)
    result = whysync("lint")
    assert (result.code, result.out) == (0, "✓ nothing found: 1 object in 1 file\n")


def test_bad_files_report_location_problem_and_fix(whysync: Whysync) -> None:
    Path("a.yaml").write_text(BAD)
    result = whysync("lint")
    assert result.code == 1
    assert result.out.splitlines()[:2] == [
        "a.yaml:7:5: critical value_of_wrong_type metadata.annotations.argocd.argoproj.io/sync-wave "
        "must be a string, not this number (put it in quotes)",
        'a.yaml:8:1: critical unknown_field ConfigMap has no field "dta" (did you mean data?)',
    ]
    assert result.out.endswith("✗ 2 critical: 1 object in 1 file\n")


def test_many_findings_of_a_rule_are_counted(whysync: Whysync) -> None:
    for number in range(30):
        Path(f"{number:02}.yaml").write_text(FLOATS.replace("name: web}", f"name: web-{number}}}", 1))
    Path("docs").mkdir()
    for number in range(3):
        Path(f"docs/{number}.yaml").write_text(BAD.replace("settings", f"settings-{number}"))
    lines = whysync("lint").out.splitlines()
    assert lines[0].startswith("00.yaml:11:")
    assert [line for line in lines if "such as" in line] == [
        "warning image_without_fixed_tag 20 more in 20 files, such as 10.yaml:11:11 (-o wide shows all)",
        "info unknown_field 3 in 3 files, such as docs/0.yaml:8:1 (-o wide shows all)",
        "info value_of_wrong_type 3 in 3 files, such as docs/0.yaml:7:5 (-o wide shows all)",
    ]
    assert len(lines) == 10 + 3 + 2
    assert whysync("lint", "-o", "wide").out.count("\n") == 30 + 6 + 2


def test_a_folder_without_manifests_is_not_green(whysync: Whysync) -> None:
    Path("empty").mkdir()
    result = whysync("lint", "empty")
    assert result.code == 3
    assert "not checked  empty: no manifests here: check the path" in result.out
    Path("values.yaml").write_text("replicas: 1\n")
    assert whysync("lint", "values.yaml").code == 0


def test_equal_notes_are_one_line(whysync: Whysync) -> None:
    for name in ("a", "b", "c"):
        Path(name).mkdir()
        Path(name, "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 0.1.0\n")
    assert (
        "not checked  a and 2 more: a Helm chart: its templates are not rendered"
        in whysync("lint", "--no-render").out
    )


def test_severity_decides_the_exit_code(whysync: Whysync) -> None:
    Path("a.yaml").write_text(FLOATS)
    assert whysync("lint").code == 1
    assert whysync("lint", "--fail-on", "critical").code == 0
    assert whysync("lint", "--exit-zero").code == 0


def test_what_could_not_be_read_is_another_answer_than_nothing_found(
    whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whysync.manifests.read_files.LARGEST", 10)
    Path("a.yaml").write_text(GOOD)
    result = whysync("lint")
    assert result.code == 3
    assert "not checked  a.yaml: larger than" in result.out


def test_wrong_usage(whysync: Whysync) -> None:
    assert whysync("lint", "nowhere").code == 2
    assert whysync("lint", "--check", "no_such").code == 2
    assert whysync("lint", "-o", "yaml").code == 2
    assert whysync("lint", "--baseline", "nowhere.json").code == 2
    Path(".whysync.yaml").write_text("lint: {severitys: {}}\n")
    result = whysync("lint")
    assert result.code == 2
    assert "severitys" in result.err


def test_several_forms_at_once(whysync: Whysync) -> None:
    Path("a.yaml").write_text(BAD)
    result = whysync("lint", "-o", "sarif=out/a.sarif", "-o", "gitlab=a.json", "-o", "github")
    assert result.code == 1
    assert result.out.startswith("::error file=a.yaml,line=7,title=value_of_wrong_type::")
    assert json.loads(Path("out/a.sarif").read_text())["version"] == "2.1.0"
    assert json.loads(Path("a.json").read_text())[0]["location"]["path"] == "a.yaml"


def test_fix_mends_what_keeps_its_meaning_and_leaves_comments(whysync: Whysync) -> None:
    Path("a.yaml").write_text(BAD)
    result = whysync("lint", "--fix")
    assert "fixed a.yaml:7 value_of_wrong_type: Put it in quotes" in result.err
    assert Path("a.yaml").read_text() == BAD.replace("sync-wave: 1", "sync-wave: '1'")
    assert result.code == 1  # dta is not called data by anybody but its author


def test_only_some_checks(whysync: Whysync) -> None:
    Path("a.yaml").write_text(BAD)
    only = whysync("lint", "-o", "json", "--check", "unknown_field")
    rest = whysync("lint", "-o", "json", "--skip", "unknown_field")
    assert [finding["check"] for finding in findings(only.out)] == ["unknown_field"]
    assert [finding["check"] for finding in findings(rest.out)] == ["value_of_wrong_type"]


def test_a_baseline_hides_what_was_there_and_shows_what_is_new(whysync: Whysync) -> None:
    Path("a.yaml").write_text(FLOATS)
    assert whysync("lint", "--write-baseline", "base.json").code == 0
    Path("a.yaml").write_text(f"# moved by a line\n{FLOATS}")
    result = whysync("lint", "--baseline", "base.json")
    assert result.code == 0
    assert "1 in the baseline" in result.out
    Path("b.yaml").write_text(FLOATS.replace("name: web}", "name: other}", 1))
    new = whysync("lint", "--baseline", "base.json", "-o", "json")
    assert [finding["path"] for finding in findings(new.out)] == ["b.yaml"]
    twice = FLOATS + FLOATS[FLOATS.index("        - name") :].replace("name: web", "name: two")
    Path("a.yaml").write_text(twice)
    assert len(findings(whysync("lint", "--baseline", "base.json", "-o", "json").out)) == 2


def test_no_baseline_but_a_broken_one(whysync: Whysync) -> None:
    Path("base.json").write_text('{"version": 7}')
    Path("a.yaml").write_text(GOOD)
    result = whysync("lint", "--baseline", "base.json")
    assert result.code == 2
    assert "version 7" in result.err


@pytest.mark.parametrize(
    "written",
    [
        FLOATS.replace("web:latest", "web:latest  # whysync: ignore image_without_fixed_tag it is a toy"),
        FLOATS.replace(
            "          image", "          # whysync: ignore image_without_fixed_tag a toy\n          image"
        ),
        f"# whysync: ignore image_without_fixed_tag a toy\n{FLOATS}",
        f"{FLOATS}# whysync: ignore-file image_without_fixed_tag a toy\n",
        FLOATS.replace(
            "metadata: {name: web}",
            "metadata: {name: web, annotations: {whysync.dev/ignore: image_without_fixed_tag a toy}}",
        ),
    ],
    ids=["same line", "line above", "whole document", "file", "annotation"],
)
def test_a_suppression_with_a_reason_counts(written: str, whysync: Whysync) -> None:
    Path("a.yaml").write_text(written)
    result = whysync("lint", "-o", "json")
    assert result.code == 0
    document = json.loads(result.out)
    assert document["findings"] == []
    assert [entry["check"] for entry in document["suppressed"]] == ["image_without_fixed_tag"]
    assert "toy" in document["suppressed"][0]["reason"]


def test_a_suppression_for_one_document_does_not_reach_the_next(whysync: Whysync) -> None:
    other = FLOATS.replace("name: web}", "name: other}", 1)
    Path("a.yaml").write_text(f"# whysync: ignore image_without_fixed_tag a toy\n{FLOATS}---\n{other}")
    assert len(findings(whysync("lint", "-o", "json").out)) == 1


def test_the_configuration_sets_severities_for_paths_and_leaves_folders_out(whysync: Whysync) -> None:
    for folder in ("dev", "prod", "old"):
        Path(folder).mkdir()
        Path(folder, "a.yaml").write_text(FLOATS)
    Path(".whysync.yaml").write_text(
        "lint:\n"
        "  exclude: [old]\n"
        "  severities: {image_without_fixed_tag: critical}\n"
        '  paths: [{path: "dev/**", severities: {image_without_fixed_tag: "off"}}]\n'
    )
    reported = [
        (finding["path"], finding["severity"]) for finding in findings(whysync("lint", "-o", "json").out)
    ]
    assert reported == [("prod/a.yaml", "critical")]


SINCE_1_34 = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostnameOverride: web.example.com
  containers: [{name: web, image: "registry.example.com/web:1"}]
"""


def test_the_version_of_kubernetes_says_which_fields_there_are(whysync: Whysync) -> None:
    Path("a.yaml").write_text(SINCE_1_34)
    assert whysync("lint").code == 0
    assert whysync("lint", "--kubernetes-version", "v1.34.1").code == 0
    result = whysync("lint", "--kubernetes-version", "1.30")
    assert result.code == 1
    output = " ".join(result.out.split())
    assert (
        '"spec.hostnameOverride" of Pod exists only since Kubernetes 1.34, but the target is 1.30' in output
    )


@pytest.mark.parametrize(("version", "which"), [("1.20", "begin"), ("1.99", "end")])
def test_a_release_without_schemas_is_said(version: str, which: str, whysync: Whysync) -> None:
    Path("a.yaml").write_text(GOOD)
    result = whysync("lint", "--kubernetes-version", version)
    assert result.code == 0
    assert f"the schemas {which} with Kubernetes 1." in " ".join(result.out.split())


def test_a_version_that_is_none(whysync: Whysync) -> None:
    Path("a.yaml").write_text(GOOD)
    result = whysync("lint", "--kubernetes-version", "latest")
    assert result.code == 2
    assert "'latest' is not a Kubernetes version" in result.err
    Path(".whysync.yaml").write_text("lint: {kubernetes: '2.0'}\n")
    assert "'2.0' is not a Kubernetes version" in whysync("lint").err


def test_crds_from_elsewhere(whysync: Whysync) -> None:
    cases = Path(__file__).with_name("cases") / "unknown_field"
    crd, widget = (cases / "of_a_custom_resource/a.yaml").read_text().split("---\n")
    Path("crds").mkdir()
    Path("crds/widget.yaml").write_text(crd)
    Path("app").mkdir()
    Path("app/a.yaml").write_text(widget)
    assert "no schema for example.com/v1 Widget" in whysync("lint", "app").out
    reported = findings(whysync("lint", "app", "--crds", "crds", "-o", "json").out)
    assert [finding["check"] for finding in reported] == ["unknown_field"]


def test_the_list_and_the_pages_of_checks(whysync: Whysync) -> None:
    assert "image_without_fixed_tag" in whysync("lint", "--explain").out
    page = whysync("lint", "--explain", "unknown_field").out
    assert "## Why" in page
    assert whysync("lint", "--explain", "no_such").code == 2


def test_values_of_secrets_are_never_shown(whysync: Whysync) -> None:
    Path("a.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {password: 'hunter2!'}\n"
        "stringData: {pin: 123456789, nested: {a: s3cr3t-value}}\n"
    )
    for form in ("wide", "json", "sarif", "junit", "github", "gitlab", "markdown"):
        result = whysync("lint", "-o", form)
        assert result.code == 1
        for secret in ("hunter2", "123456789", "s3cr3t-value"):
            assert secret not in result.out + result.err


def test_odd_files_are_clear_answers(whysync: Whysync, workdir: Path) -> None:
    Path("binary.yaml").write_bytes(bytes(range(256)) * 50)
    Path("deep.json").write_text('{"kind": ' + "[" * 5_000 + "]" * 5_000 + "}")
    Path("outside.yaml").symlink_to("/etc/hostname")
    Path("loop").symlink_to(workdir)
    os.mkfifo("pipe.yaml")
    Path("a").mkdir()
    Path("b").mkdir()
    Path("a/kustomization.yaml").write_text("resources: [../b]\n")
    Path("b/kustomization.yaml").write_text("resources: [../a]\n")
    result = whysync("lint", "--no-render", "-o", "json")
    reported = findings(result.out)
    assert [(finding["check"], finding["path"]) for finding in reported] == [
        ("manifest_yaml_invalid", "deep.json")
    ]
    assert whysync("lint", "binary.yaml").code == 1


def test_a_thousand_names_that_lead_nowhere_take_no_time(whysync: Whysync) -> None:
    volume = "      volumes: [{name: c, configMap: {name: app-NUMBER-config}}]\n"
    workload = FLOATS.replace("web:latest", "web:1").replace("name: web}", "name: app-NUMBER}", 1) + volume
    other = GOOD.replace("settings", "app-NUMBER-cfg")
    Path("a.yaml").write_text(
        "---\n".join(
            template.replace("NUMBER", f"{n:05d}") for n in range(1_000) for template in (workload, other)
        )
    )

    def lint() -> None:
        assert len(findings(whysync("lint", "-o", "json").out)) == 1_000

    assert processor_seconds(lint) < 20


def test_json_on_one_line_is_a_manifest_too(whysync: Whysync) -> None:
    Path("a.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"dta":{}}')
    reported = findings(whysync("lint", "-o", "json").out)
    assert [(finding["check"], finding["line"]) for finding in reported] == [("unknown_field", 1)]
