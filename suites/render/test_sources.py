"""Apps of several sources and charts from a registry, through the adapter that the engine uses."""

from __future__ import annotations

import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.argocd.repo_server.git.conftest import GitCheckout
from whysync.argocd.repo_server.git import open_repo
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.render import RenderOptions
from whysync.argocd.repo_server.render.tools import helm
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.json_tree import Object

CHART = "apiVersion: v2\nname: shop\nversion: 1.2.3\n"
TEMPLATE = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {values: {{ toJson .Values | quote }}}\n"
)


def app(*sources: Object) -> Object:
    return {
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"destination": {"namespace": "prod"}, "sources": [*sources]},
    }


def test_values_from_another_repository(options: RenderOptions, tmp_path: Path) -> None:
    charts, values = GitCheckout(tmp_path / "charts"), GitCheckout(tmp_path / "values")
    charts.commit({"shop/Chart.yaml": CHART, "shop/templates/a.yaml": TEMPLATE})
    values.commit({"prod/v.yaml": "from: first\n", "prod/motd.txt": "hello"})
    chart: Object = {
        "repoURL": "https://example.org/charts",
        "path": "shop",
        "targetRevision": "main",
        "helm": {
            "valueFiles": ["$vals/$ARGOCD_APP_NAMESPACE/*.yaml"],
            "fileParameters": [{"name": "motd", "path": "$vals/prod/motd.txt"}],
        },
    }
    ref: Object = {"repoURL": "git@example.org:values.git", "targetRevision": "main", "ref": "vals"}
    repo = open_repo(str(values.folder), url="git@example.org:values.git")
    repos = [open_repo(str(charts.folder), url="https://example.org/charts.git"), repo]
    with GitSources(repos, options=options) as sources:

        def found() -> object:
            commit = sources.resolve(chart, "main")
            return sources.render(app(chart, ref), chart, commit).manifests[0]["data"]

        assert found() == {"values": '{"from":"first","motd":"hello"}'}
        values.commit({"prod/v.yaml": "from: second\n"})
        repo.forget()
        assert found() == {"values": '{"from":"second","motd":"hello"}'}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry(options: RenderOptions, tmp_path: Path) -> Iterator[str]:
    """A chart repository on loopback."""
    for version in ("1.2.3", "1.3.0", "2.0.0"):
        folder = tmp_path / version / "shop"
        (folder / "templates").mkdir(parents=True)
        (folder / "Chart.yaml").write_text(CHART.replace("1.2.3", version))
        (folder / "values.yaml").write_text(f"version: {version}\n")
        (folder / "templates/a.yaml").write_text(TEMPLATE)
        command = [*helm(options.tools).command, "package", str(folder), "-d", str(tmp_path / "served")]
        subprocess.run(command, check=True, capture_output=True)
    command = [*helm(options.tools).command, "repo", "index", str(tmp_path / "served")]
    subprocess.run(command, check=True, capture_output=True)
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_chart_of_a_registry(
    registry: str, options: RenderOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYSYNC_CACHE", str(tmp_path / "cache"))
    chart: Object = {"repoURL": registry, "chart": "shop", "targetRevision": "1.x"}
    with GitSources(options=options) as closed, pytest.raises(RepoProblem, match="is not fetched"):
        closed.resolve(chart, "1.x")
    with GitSources(options=replace(options, network=True)) as sources:
        version = sources.resolve(chart, "1.x")
        assert version == "1.3.0"
        rendered = sources.render(app(chart), chart, version)
        assert rendered.source_type == "Helm"
        assert rendered.manifests[0]["data"] == {"values": '{"version":"1.3.0"}'}
        with pytest.raises(RepoProblem, match="failed to fetch chart"):
            sources.resolve({**chart, "chart": "nope"}, "1.x")
    with GitSources(options=options) as cached:
        assert cached.resolve(chart, "1.x") == "1.3.0"
