"""Charts and kustomizations that mean harm: a clear answer in time, and nothing of the machine in it."""

from __future__ import annotations

import hashlib
import json
import socket
import sys
import time
from collections.abc import Iterator, Mapping
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


SECRET = "the user's own file"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside of the source, with files that no source may read."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "secret.yaml").write_text(f"data: {{stolen: {SECRET!r}}}\n")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "cm.yaml").write_text(f"{CM % 'stolen'}data: {{stolen: {SECRET!r}}}\n")
    (folder / "kustomization.yaml").write_text("resources: [cm.yaml]\n")
    (folder / "Chart.yaml").write_text(CHART.replace("shop", "stolen"))
    (folder / "templates").mkdir()
    (folder / "templates/cm.yaml").write_text((folder / "cm.yaml").read_text())
    return folder


def outcome_of(
    folder: Path, files: Mapping[str, str], options: RenderOptions, **source: Object
) -> tuple[str, str]:
    """What was rendered, or else the message."""
    try:
        result = made(folder, files, options, **source)
    except RenderProblem as problem:
        return "", problem.text
    except CannotRender as problem:
        return "", f"{problem.what} {problem.why}"
    return str([obj.body for obj in result.objects]), ""


# `{out}` is the absolute path of the folder outside, `{up}` the relative one from the app.
KUSTOMIZATIONS = {
    "absolute resource": "resources: ['{out}/cm.yaml']\n",
    "relative resource": "resources: ['{up}/cm.yaml']\n",
    "absolute base": "resources: ['{out}']\n",
    "relative base": "resources: ['{up}']\n",
    "component": "components: ['{up}']\n",
    "generator file": "configMapGenerator: [{{name: a, files: ['x={up}/secret.txt']}}]\n",
    "absolute generator file": "configMapGenerator: [{{name: a, files: ['{out}/secret.txt']}}]\n",
    "env file": "configMapGenerator: [{{name: a, envs: ['{up}/secret.txt']}}]\n",
    "secret generator": "secretGenerator: [{{name: a, files: ['{up}/secret.txt']}}]\n",
    "patch": "resources: [ok.yaml]\npatches: [{{path: '{up}/secret.yaml', target: {{kind: ConfigMap}}}}]\n",
    "strategic patch": "resources: [ok.yaml]\npatchesStrategicMerge: ['{up}/cm.yaml']\n",
    "replacement": "resources: [ok.yaml]\nreplacements: [{{path: '{up}/secret.yaml'}}]\n",
    "transformer": "resources: [ok.yaml]\ntransformers: ['{up}']\n",
    "generator": "generators: ['{up}']\n",
    "crds": "resources: [ok.yaml]\ncrds: ['{up}/secret.yaml']\n",
    "openapi": "resources: [ok.yaml]\nopenapi: {{path: '{up}/secret.yaml'}}\n",
    "configurations": "resources: [ok.yaml]\nconfigurations: ['{up}/secret.yaml']\n",
    "file URL": "resources: ['file://{out}/cm.yaml']\n",
    "git file URL": "resources: ['git::file://{out}']\n",
    "chart home": "helmGlobals: {{chartHome: '{up}/..'}}\nhelmCharts: [{{name: private, releaseName: a}}]\n",
    "absolute chart home": "helmGlobals: {{chartHome: '{out}/..'}}\nhelmCharts: [{{name: private}}]\n",
    "chart values": "helmCharts: [{{name: c, valuesFile: '{up}/secret.yaml'}}]\n",
    "more chart values": "helmCharts: [{{name: c, additionalValuesFiles: ['{out}/secret.yaml']}}]\n",
    "inflator": "generators: [inflate.yaml]\n",
    "link to a file": "resources: [link.yaml]\n",
    "link to a folder": "resources: [linked]\n",
}


@pytest.mark.parametrize("build_options", ["", "--load-restrictor LoadRestrictionsNone --enable-helm"])
@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_kustomizations_read_nothing_outside(
    options: RenderOptions, tmp_path: Path, outside: Path, name: str, build_options: str
) -> None:
    files = {
        "app/kustomization.yaml": KUSTOMIZATIONS[name].format(out=outside, up="../../private"),
        "app/ok.yaml": CM % "ok",
        "app/charts/c/Chart.yaml": CHART,
        "app/charts/c/templates/a.yaml": CM % "c" + "data: {{ toJson .Values.data }}\n",
        "app/inflate.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\n"
        f"name: private\nreleaseName: a\nchartHome: {outside.parent}\n",
    }
    if name == "link to a file":
        files["app/link.yaml"] = f"-> {outside}/cm.yaml"
    if name == "link to a folder":
        files["app/linked"] = f"-> {outside}"
    settings = replace(options, knows_settings=True, kustomize_build_options=build_options)
    rendered, message = outcome_of(tmp_path / "source", files, settings)
    assert SECRET not in rendered
    assert SECRET not in message


HELM_SOURCES: dict[str, Object] = {
    "relative values": {"valueFiles": ["../../private/secret.yaml"]},
    "absolute values": {"valueFiles": ["{out}/secret.yaml"]},
    "values URL": {"valueFiles": ["file://{out}/secret.yaml"]},
    "values of a source": {"valueFiles": ["$other/../../private/secret.yaml"]},
    "file parameter": {"fileParameters": [{"name": "data.x", "path": "../../private/secret.txt"}]},
    "absolute file parameter": {"fileParameters": [{"name": "data.x", "path": "{out}/secret.txt"}]},
    "parameter": {"parameters": [{"name": "data.x", "value": "@{out}/secret.txt"}]},
    "release name": {"releaseName": "--values={out}/secret.yaml"},
    "version": {"version": "--values={out}/secret.yaml"},
    "api version": {"apiVersions": ["--values={out}/secret.yaml"]},
    "linked values": {"valueFiles": ["linked.yaml"]},
}


@pytest.mark.parametrize("name", HELM_SOURCES)
def test_charts_read_nothing_outside(
    options: RenderOptions, tmp_path: Path, outside: Path, name: str
) -> None:
    import msgspec

    helm = msgspec.json.decode(
        msgspec.json.encode(HELM_SOURCES[name]).decode().replace("{out}", str(outside)),
        type=dict[str, object],
    )
    files = {
        "app/Chart.yaml": CHART,
        "app/templates/a.yaml": CM % "a" + "data: {{ toJson .Values.data }}\n",
    }
    if name == "linked values":
        files["app/linked.yaml"] = f"-> {outside}/secret.yaml"
    rendered, message = outcome_of(tmp_path / "source", files, options, helm=helm)  # pyright: ignore[reportArgumentType]  (JSON)
    assert SECRET not in rendered
    assert SECRET not in message


@pytest.mark.parametrize("url", ["file://{out}", "file://../../private", "file:///../..{out}"])
def test_a_dependency_outside(options: RenderOptions, tmp_path: Path, outside: Path, url: str) -> None:
    dependency = (
        f"dependencies: [{{name: stolen, version: 1.0.0, repository: '{url.format(out=outside)}'}}]\n"
    )
    files = {"app/Chart.yaml": CHART + dependency, "app/templates/a.yaml": CM % "a"}
    for network in (False, True):
        allowed = replace(options, network=network)
        rendered, message = outcome_of(tmp_path / f"source-{network}", files, allowed)
        assert rendered == ""
        assert "stolen" in message


def test_a_lock_that_names_a_dependency_outside(
    options: RenderOptions, tmp_path: Path, outside: Path
) -> None:
    """`helm dependency build` takes what Chart.lock says if its digest fits, and anybody can compute it."""
    declared = [{"name": "stolen", "version": "1.0.0", "repository": "https://127.0.0.1:9"}]
    locked = [{"name": "stolen", "version": "1.0.0", "repository": f"file://{outside}"}]
    digest = hashlib.sha256(json.dumps([declared, locked], separators=(",", ":")).encode()).hexdigest()
    chart = {"apiVersion": "v2", "name": "shop", "version": "1.0.0", "dependencies": declared}
    lock = {"dependencies": locked, "digest": f"sha256:{digest}", "generated": "2026-01-01T00:00:00Z"}
    files = {
        "app/Chart.yaml": json.dumps(chart),
        "app/Chart.lock": json.dumps(lock),
        "app/templates/a.yaml": CM % "a",
    }
    rendered, message = outcome_of(tmp_path / "source", files, replace(options, network=True))
    assert rendered == ""
    assert "is outside of the repository" in message


@pytest.mark.parametrize(
    "function",
    [
        "container: {image: example/run, network: true, mounts: [{type: bind, src: /, dst: /x}]}",
        "exec: {path: ./run.sh}",
        "starlark: {path: run.star, name: x}",
    ],
)
def test_functions_of_kustomizations(options: RenderOptions, tmp_path: Path, function: str) -> None:
    marker = tmp_path / "was-here"
    files = {
        "app/kustomization.yaml": "transformers: [run.yaml]\nresources: [ok.yaml]\n",
        "app/ok.yaml": CM % "ok",
        "app/run.yaml": "apiVersion: x/v1\nkind: Run\nmetadata:\n  name: x\n  annotations:\n"
        f"    config.kubernetes.io/function: |\n      {function}\n",
        "app/run.sh": f"#!/bin/sh\ntouch {marker}\n",
        "app/run.star": "print('x')\n",
    }
    rendered, message = outcome_of(tmp_path / "source", files, options)
    assert rendered == ""
    assert message
    assert not marker.exists()
    for flag in ("--enable-alpha-plugins", "--enable-exec", "--network", "--mount type=bind,src=/,dst=/x"):
        allowed = replace(options, knows_settings=True, kustomize_build_options=flag)
        assert outcome_of(tmp_path / "source2", files, allowed)[0] == ""
    assert not marker.exists()


class _Listener:
    """Counts connections to a port of loopback."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.port: int = self.socket.getsockname()[1]

    def was_asked(self) -> bool:
        try:
            self.socket.accept()[0].close()
        except TimeoutError:
            return False
        return True


@pytest.fixture
def listener() -> Iterator[_Listener]:
    server = _Listener()
    yield server
    server.socket.close()


def test_nothing_connects_unless_asked(options: RenderOptions, tmp_path: Path, listener: _Listener) -> None:
    host = f"127.0.0.1:{listener.port}"
    chart = {"app/Chart.yaml": CHART, "app/templates/a.yaml": CM % "a"}
    dependency = "dependencies: [{name: x, version: 1.0.0, repository: '%s'}]\n"
    sources: dict[str, tuple[dict[str, str], Object]] = {
        "base": ({"app/kustomization.yaml": f"resources: ['http://{host}/x.yaml']\n"}, {}),
        "git base": ({"app/kustomization.yaml": f"resources: ['git::http://{host}/x?ref=a']\n"}, {}),
        "ssh base": ({"app/kustomization.yaml": f"resources: ['ssh://git@{host}/x?ref=a']\n"}, {}),
        "chart of a kustomization": (
            {"app/kustomization.yaml": f"helmCharts: [{{name: x, repo: 'http://{host}', version: 1.0.0}}]\n"},
            {},
        ),
        "values": (chart, {"valueFiles": [f"http://{host}/values.yaml"]}),
        "dependency": ({**chart, "app/Chart.yaml": CHART + dependency % f"http://{host}"}, {}),
        "OCI dependency": ({**chart, "app/Chart.yaml": CHART + dependency % f"oci://{host}/x"}, {}),
    }
    settings = replace(options, knows_settings=True, kustomize_build_options="--enable-helm")
    for name, (files, helm) in sources.items():
        source: dict[str, Object] = {"helm": helm} if helm else {}
        rendered, message = outcome_of(tmp_path / name.replace(" ", "-"), files, settings, **source)
        assert rendered == "", name
        assert message, name
        assert not listener.was_asked(), name
    # The listener would notice.
    files, _ = sources["base"]
    outcome_of(tmp_path / "asked", files, replace(quick(settings, seconds=10), network=True))
    assert listener.was_asked()


def test_templates_resolve_no_names_even_with_the_network(options: RenderOptions, tmp_path: Path) -> None:
    template = CM % "a" + 'data: {host: {{ getHostByName "localhost" | quote }}}\n'
    files = {"app/Chart.yaml": CHART, "app/templates/a.yaml": template}
    result = made(tmp_path, files, replace(options, network=True))
    assert result.objects[0].body["data"] == {"host": ""}
