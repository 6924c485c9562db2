"""`--network`: charts and repositories from servers on loopback, with the credentials of the user.

Each test fetches once with the user's own configuration, fails without it, and then renders from the cache
without the network.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.render.servers import (
    PASSWORD,
    USER,
    NotAvailable,
    chart_repository,
    git_over_http,
    git_over_ssh,
    oci_registry,
    registry_program,
    ssh_library,
)
from suites.render.test_sources import CHART, TEMPLATE, app
from tests.argocd.repo_server.git.conftest import GitCheckout
from whysync.argocd.repo_server.git import repo as git_repo
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.render import CannotRender, RenderOptions
from whysync.argocd.repo_server.render.tools import helm
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.json_tree import Object


@pytest.fixture(scope="session")
def registry() -> Path:
    try:
        return registry_program()
    except NotAvailable as problem:
        pytest.fail(str(problem))


@pytest.fixture(scope="session")
def ssh() -> Path:
    try:
        return ssh_library()
    except NotAvailable as problem:
        pytest.fail(str(problem))


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory of the user, and an empty cache."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HELM_CONFIG_HOME", "HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CONFIG", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WHYSYNC_CACHE", str(tmp_path / "cache"))
    return home


@pytest.fixture
def archive(options: RenderOptions, tmp_path: Path) -> Path:
    """The archive of a chart, in a folder of its own with an index."""
    folder = tmp_path / "chart/shop"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(CHART)
    (folder / "values.yaml").write_text("from: server\n")
    (folder / "templates/a.yaml").write_text(TEMPLATE)
    served = tmp_path / "served"
    for command in (["package", str(folder), "-d", str(served)], ["repo", "index", str(served)]):
        subprocess.run([*helm(options.tools).command, *command], check=True, capture_output=True)
    return served / "shop-1.2.3.tgz"


def rendered(source: Object, options: RenderOptions, revision: str) -> object:
    with GitSources(options=options) as sources:
        commit = sources.resolve(source, revision)
        return sources.render(app(source), source, commit).manifests[0]["data"]


def check(source: Object, options: RenderOptions, revision: str, *, login: Iterator[None]) -> None:
    """Refused without a login, rendered with it, and then without the network."""
    network = replace(options, network=True)
    with pytest.raises(RepoProblem, match=r"not in the cache"):
        rendered(source, options, revision)
    with pytest.raises(
        RepoProblem, match=r"(?i)401|unauthorized|authentication|denied|could not read|credential not found"
    ):
        rendered(source, network, revision)
    for _ in login:
        pass
    expected = {"values": '{"from":"server"}'}
    assert rendered(source, network, revision) == expected
    assert rendered(source, options, revision) == expected
    # Credentials are in no file of the cache.
    cached = [path for path in git_repo.cache_folder().rglob("*") if path.is_file()]
    assert cached
    assert not any(PASSWORD.encode() in path.read_bytes() for path in cached if path.suffix != ".tgz")


def test_a_chart_repository_with_a_password(user: Path, archive: Path, options: RenderOptions) -> None:
    with chart_repository(archive.parent) as url:

        def login() -> Iterator[None]:
            config = user / ".config/helm/repositories.yaml"
            config.parent.mkdir(parents=True)
            entry = {"name": "mine", "url": url, "username": USER, "password": PASSWORD}
            config.write_text(json.dumps({"apiVersion": "", "repositories": [entry]}))
            yield

        source: Object = {"repoURL": url, "chart": "shop", "targetRevision": "1.x"}
        check(source, options, "1.x", login=login())


def test_an_oci_registry_with_a_password(
    registry: Path, user: Path, archive: Path, options: RenderOptions, tmp_path: Path
) -> None:
    folder = tmp_path / "registry"
    folder.mkdir()
    with oci_registry(registry, folder) as host:
        docker = user / ".docker/config.json"
        token = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        content = json.dumps({"auths": {host: {"auth": token}}})
        push = ["push", "--plain-http", "--registry-config", str(tmp_path / "push.json"), str(archive)]
        (tmp_path / "push.json").write_text(content)
        command = [*helm(options.tools).command, *push, f"oci://{host}/team"]
        subprocess.run(command, check=True, capture_output=True)

        def login() -> Iterator[None]:
            docker.parent.mkdir()
            docker.write_text(content)
            yield

        source: Object = {"repoURL": f"{host}/team", "chart": "shop", "targetRevision": "1.2.3"}
        check(source, options, "1.2.3", login=login())
        # the same chart as an artifact, which has a path
        network = replace(options, network=True)
        artifact: Object = {"repoURL": f"oci://{host}/team/shop", "path": ".", "targetRevision": "1.2.3"}
        assert rendered(artifact, network, "1.2.3") == {"values": '{"from":"server"}'}
        missing: Object = {**artifact, "repoURL": f"oci://{host}/team/other"}
        with pytest.raises(RepoProblem) as problem:
            rendered(missing, network, "1.2.3")
        assert isinstance(problem.value.__cause__, CannotRender), "unknown, and no failure"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A bare repository with a chart."""
    work = GitCheckout(tmp_path / "work")
    work.commit(
        {"shop/Chart.yaml": CHART, "shop/values.yaml": "from: server\n", "shop/templates/a.yaml": TEMPLATE}
    )
    bare = tmp_path / "git/charts.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(work.folder), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    return bare


def test_git_over_http_with_a_credential_helper(user: Path, checkout: Path, options: RenderOptions) -> None:
    with git_over_http(checkout.parent) as url:

        def login() -> Iterator[None]:
            (user / ".gitconfig").write_text("[credential]\n\thelper = store\n")
            stored = url.replace("http://", f"http://{USER}:{PASSWORD}@")
            (user / ".git-credentials").write_text(f"{stored}\n")
            yield

        source: Object = {"repoURL": f"{url}/charts.git", "path": "shop", "targetRevision": "main"}
        check(source, options, "main", login=login())


def test_git_over_ssh_with_a_key(
    ssh: Path,
    user: Path,
    checkout: Path,
    options: RenderOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "ssh"
    folder.mkdir()
    with git_over_ssh(ssh, folder) as (url, client):
        assert user.is_dir()
        monkeypatch.setenv("GIT_SSH_COMMAND", client.replace(str(folder / "client"), "/dev/null"))

        def login() -> Iterator[None]:
            monkeypatch.delenv("GIT_SSH_COMMAND")
            (user / ".gitconfig").write_text(f'[core]\n\tsshCommand = "{client}"\n')
            yield

        source: Object = {"repoURL": f"{url}{checkout}", "path": "shop", "targetRevision": "main"}
        check(source, options, "main", login=login())


def test_a_remote_base_of_a_kustomization(user: Path, tmp_path: Path, options: RenderOptions) -> None:
    base = GitCheckout(tmp_path / "base")
    base.commit({"kustomization.yaml": "configMapGenerator: [{name: a, literals: [from=server]}]\n"})
    bare = tmp_path / "git/base.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(base.folder), str(bare)], check=True)
    with git_over_http(bare.parent) as url:
        (user / ".gitconfig").write_text("[credential]\n\thelper = store\n")
        stored = url.replace("http://", f"http://{USER}:{PASSWORD}@")
        (user / ".git-credentials").write_text(f"{stored}\n")
        overlay = GitCheckout(tmp_path / "overlay")
        overlay.commit({"app/kustomization.yaml": f"resources: ['{url}/base.git?ref=main']\n"})
        source: Object = {"repoURL": str(overlay.folder), "path": "app", "targetRevision": "main"}
        repos = [git_repo.open_repo(str(overlay.folder), url=str(overlay.folder))]
        with GitSources(repos, options=replace(options, network=True)) as sources:
            commit = sources.resolve(source, "main")
            assert sources.render(app(source), source, commit).manifests[0]["data"] == {"from": "server"}
        with (
            GitSources(repos, options=options) as closed,
            pytest.raises(RepoProblem, match="needs the network"),
        ):
            closed.render(app(source), source, closed.resolve(source, "main"))
