"""Charts and kustomizations that mean harm: a clear answer in time, and nothing of the machine in it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.render.cases import COMMIT
from whysync.argocd.repo_server.git import tree_of_folder
from whysync.argocd.repo_server.render import (
    CannotRender,
    RenderedSource,
    RenderOptions,
    RenderProblem,
    render,
)
from whysync.json_tree import Json, Object
from whysync.processes.children import Bounds

CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
CM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
APP: Object = {"metadata": {"name": "shop"}, "spec": {"destination": {"namespace": "prod"}}}


def made(
    folder: Path, files: Mapping[str, str], options: RenderOptions, app: Object = APP, **source: Json
) -> RenderedSource:
    for path, content in files.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            full.symlink_to(content.removeprefix("-> "))
        else:
            full.write_text(content)
    with tree_of_folder(folder) as tree:
        return render(app, {"repoURL": "r", "path": "app", **source}, tree, commit=COMMIT, options=options)


def quick(options: RenderOptions, seconds: float = 3.0, output: int = 4 << 20) -> RenderOptions:
    return replace(options, bounds=Bounds(seconds=seconds, memory=8 << 30, output=output))


def test_an_endless_template_is_stopped(options: RenderOptions, tmp_path: Path) -> None:
    loop = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"
    began = time.monotonic()
    with pytest.raises(RenderProblem, match=r"`helm template .*` failed timeout after 3s"):
        made(tmp_path, {"app/Chart.yaml": CHART, "app/templates/a.yaml": loop}, quick(options))
    assert time.monotonic() - began < 30


def test_templates_that_call_each_other_for_ever(options: RenderOptions, tmp_path: Path) -> None:
    files = {
        "app/Chart.yaml": CHART,
        "app/templates/_a.tpl": '{{ define "a" }}{{ include "a" . }}{{ end }}',
        "app/templates/a.yaml": '{{ include "a" . }}',
    }
    with pytest.raises(RenderProblem, match="failed to execute helm template command"):
        made(tmp_path, files, quick(options, seconds=30))


def test_a_template_that_blows_up_is_stopped(options: RenderOptions, tmp_path: Path) -> None:
    bomb = CM % "a" + 'data:\n  x: "{{ repeat 30000000 "x" }}"\n'
    with pytest.raises(CannotRender, match="printed more than 4 MiB"):
        made(tmp_path, {"app/Chart.yaml": CHART, "app/templates/a.yaml": bomb}, quick(options, seconds=60))


def test_memory_has_a_bound(options: RenderOptions, tmp_path: Path) -> None:
    bomb = '{{ $x := repeat 1000000 "x" }}{{ range until 30 }}{{ $x = print $x $x }}{{ end }}'
    tight = replace(options, bounds=Bounds(seconds=60, memory=2 << 30, output=4 << 20))
    with pytest.raises((RenderProblem, CannotRender)):
        made(tmp_path, {"app/Chart.yaml": CHART, "app/templates/a.yaml": bomb}, tight)


def test_charts_see_nothing_of_the_machine(
    options: RenderOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    template = (
        CM % "a"
        + 'data:\n  file: {{ .Files.Get "/etc/passwd" | quote }}\n  up: {{ .Files.Get "../../x" | quote }}\n'
        + '  found: {{ .Files.Glob "/etc/*" | toJson | quote }}\n'
        + '  lookup: {{ lookup "v1" "Secret" "" "" | toJson | quote }}\n'
        + '  host: {{ getHostByName "localhost" | quote }}\n'
    )
    result = made(tmp_path, {"app/Chart.yaml": CHART, "app/templates/a.yaml": template}, options)
    assert result.objects[0].body["data"] == {"file": "", "up": "", "found": "{}", "lookup": "{}", "host": ""}
    leaking = {"env": '{{ env "SECRET_OF_THE_USER" }}', "expand": '{{ expandenv "$SECRET_OF_THE_USER" }}'}
    for name, template in leaking.items():
        with pytest.raises(RenderProblem, match=r"function \"\w+\" not defined"):
            made(tmp_path / name, {"app/Chart.yaml": CHART, "app/templates/a.yaml": template}, options)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../etc/passwd", "../../outside"])
def test_links_that_lead_out(options: RenderOptions, tmp_path: Path, target: str) -> None:
    files = {"app/Chart.yaml": CHART, "app/values.yaml": f"-> {target}", "app/templates/a.yaml": CM % "a"}
    with pytest.raises(
        RenderProblem, match=r"repository contains out-of-bounds symlinks\. file: app/values\.yaml"
    ):
        made(tmp_path, files, options)


def test_kustomizations_of_files_and_programs_outside(options: RenderOptions, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/kustomization.yaml").write_text(
        "configMapGenerator: [{name: mine, literals: [a=b]}]\n"
    )
    for number, kustomization in enumerate(
        (
            f"resources: [{'../' * 12}{tmp_path / 'private'}]\n",
            "resources: ['file:///etc']\n",
            f"resources: ['git::file://{tmp_path}/private']\n",
            "generators: [gen.yaml]\n",
        )
    ):
        files = {
            "app/kustomization.yaml": kustomization,
            "app/gen.yaml": "apiVersion: x/v1\nkind: Run\nmetadata:\n  name: x\n  annotations:\n"
            "    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n",
            "app/run.sh": "#!/bin/sh\ntouch /tmp/whysync-was-here\n",
        }
        with pytest.raises((RenderProblem, CannotRender)):
            made(tmp_path / str(number), files, options)
    assert not Path("/tmp/whysync-was-here").exists()


def test_odd_names_of_apps_and_values(options: RenderOptions, tmp_path: Path) -> None:
    files = {"app/Chart.yaml": CHART, "app/templates/a.yaml": CM % "{{ .Release.Name | quote }}"}
    for name in ("--post-renderer=/bin/sh", "a b\nc", "$(touch x)", "x" * 100):
        app: Object = {"metadata": {"name": name}, "spec": {}}
        with pytest.raises(RenderProblem, match="helm template"):
            made(tmp_path / "a", files, options, app)
    result = made(
        tmp_path / "b",
        files,
        options,
        helm={"parameters": [{"name": "x", "value": "--post-renderer=/bin/sh"}]},
    )
    assert len(result.objects) == 1


def test_what_was_rendered_is_kept_without_secrets(options: RenderOptions, tmp_path: Path) -> None:
    cached = replace(options, cache=tmp_path / "cache")
    random = CM % "a" + "data: {x: {{ randAlphaNum 8 | quote }}}\n"
    files = {"app/Chart.yaml": CHART, "app/templates/a.yaml": random, "other/x": "1"}
    first = made(tmp_path / "one", files, cached)
    assert made(tmp_path / "one", files, cached).objects == first.objects
    assert made(tmp_path / "two", {**files, "other/x": "2"}, cached).objects == first.objects
    assert made(tmp_path / "one", files, cached, helm={"releaseName": "b"}).objects != first.objects
    changed = {**files, "app/values.yaml": "a: 1\n"}
    assert made(tmp_path / "three", changed, cached).objects != first.objects
    assert (tmp_path / "cache/render").stat().st_mode & 0o077 == 0
    secret = {
        "app/Chart.yaml": CHART,
        "app/templates/s.yaml": "apiVersion: v1\nkind: Secret\nstringData: {p: hunter2}\n",
    }
    made(tmp_path / "four", secret, cached)
    assert not any(
        b"hunter2" in file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()
    )


def test_endless_jsonnet_is_stopped(
    options: RenderOptions, jsonnet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, jsonnet])
    endless = "local f(x) = if x < 0 then 0 else f(x + 1) tailstrict; f(0)\n"
    with pytest.raises(RenderProblem, match="Failed to evaluate jsonnet"):
        made(tmp_path, {"app/a.jsonnet": endless}, quick(options))
