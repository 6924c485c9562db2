"""`--core` without Argo CD's manifests: rendered from a checkout, from `--local`, or fetched with `--git`."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.argocd.repo_server.git.conftest import GitCheckout
from tests.argocd.repo_server.render.conftest import tools_or_skip
from tests.cli.running import Ran, Whysync
from tests.facts.argocd_api.scenes import of
from tests.facts.argocd_api.server import ArgoCD, at
from tests.facts.kubernetes_api.fake_api import FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import application, deployment, row, thing
from whysync.argocd.repo_server.git import cache_folder
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role

URL = "https://git.example.com/shop/deploy.git"
TRACKED = "shop:apps/Deployment:shop/web"
DEPLOYMENT = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template:
    spec:
      containers:
        - {name: main, image: "shop:1"}
"""
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
VERSION = '{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" }}'


CACHE = str(cache_folder())
"""That of the user, where Helm and Kustomize may be; tests have a home of their own."""


@pytest.fixture
def tools(whysync: Whysync, monkeypatch: pytest.MonkeyPatch) -> None:
    assert whysync  # it removes the variables of whysync
    monkeypatch.setenv("WHYSYNC_CACHE", CACHE)
    tools_or_skip()


@pytest.fixture
def repo(tmp_path: Path) -> GitCheckout:
    checkout = GitCheckout(tmp_path / "deploy")
    checkout.git("remote", "add", "origin", "git@git.example.com:shop/deploy")
    return checkout


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory that is in no checkout."""
    folder = tmp_path / "outside"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def drifted(commit: str, *, url: str = URL, path: str = "web", **spec: Json) -> list[Object]:
    """An app whose Deployment was scaled from 2 to 5; its manifests are not in the cluster."""
    app = application(
        "shop", sync="OutOfSync", rows=[row("Deployment", "web", "shop", group="apps", status="OutOfSync")]
    )
    revision: Json = {"status": "OutOfSync", "revision": commit}
    app_spec, status = app["spec"], app["status"]
    assert isinstance(app_spec, dict)
    assert isinstance(status, dict)
    app_spec |= {"source": {"repoURL": url, "path": path, "targetRevision": "main"}, **spec}
    status["sync"] = revision
    live = deployment("web", "shop", live=5)
    meta = live["metadata"]
    assert isinstance(meta, dict)
    meta["annotations"] = {"argocd.argoproj.io/tracking-id": TRACKED}
    settings = thing(
        "v1", "ConfigMap", "argocd-cm", "argocd", labels={"app.kubernetes.io/part-of": "argocd"}, data={}
    )
    return [app, live, settings, thing("v1", "Namespace", "shop")]


@contextmanager
def cluster(home: Path, objects: list[Object]) -> Generator[tuple[str, ...]]:
    home.mkdir(exist_ok=True)
    with serving(FakeApi(objects)) as server:
        yield "--kubeconfig", str(kubeconfig(home, server.url)), "--argocd-namespace", "argocd"


def diagnosed(whysync: Whysync, home: Path, objects: list[Object], *flags: str) -> Ran:
    with cluster(home, objects) as source:
        return whysync("shop", *source, *flags)


def words(ran: Ran) -> str:
    """The text without its line breaks."""
    return " ".join(ran.out.split())


def app_of(ran: Ran) -> Any:
    return json.loads(ran.out)["apps"][0]


@pytest.mark.parametrize(
    "remote",
    [
        "git@git.example.com:shop/deploy.git",
        "git.example.com:shop/deploy",
        "ssh://git@git.example.com:2222/shop/deploy.git",
        "https://git.example.com/shop/deploy",
        "https://me:token@git.example.com/Shop/deploy.git/",
    ],
)
def test_a_checkout_in_the_current_directory(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    """At the commit that Argo CD compared, not at the head and not as in the work tree."""
    compared = repo.commit({"web/web.yaml": DEPLOYMENT})
    repo.commit({"web/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 7")})
    repo.git("remote", "set-url", "origin", remote)
    repo.git("remote", "add", "fork", "https://git.example.com/somebody/else.git")
    (repo.folder / "web/web.yaml").write_text("nonsense")
    monkeypatch.chdir(repo.folder / "web")
    text = words(diagnosed(whysync, outside, drifted(compared), "--core"))
    assert "Git 2 → live 5" in text
    assert "declared in web/web.yaml:7" in text
    assert f"rendered from the checkout {repo.folder} at {compared[:8]}" in text
    assert f"--checkout {repo.folder} --write" in text
    assert "not readable" not in text
    app = app_of(diagnosed(whysync, outside, drifted(compared), "-o", "json"))
    finding = app["findings"][0]
    assert finding["location"] == {"file": "web/web.yaml", "line": 7, "column": finding["location"]["column"]}
    assert finding["fixes"][0]["location"]["line"] == 7
    assert finding["fixes"][1]["location"] is None
    assert app["manifests"] == f"the checkout {repo.folder} at {compared[:8]}"


def test_without_any_files_the_flags_are_named(whysync: Whysync, repo: GitCheckout, outside: Path) -> None:
    ran = diagnosed(whysync, outside, drifted(repo.commit({"web/web.yaml": DEPLOYMENT})), "-o", "json")
    app = app_of(ran)
    gap = next(gap for gap in app["gaps"] if gap["kind"] == "not-rendered")
    assert all(flag in gap["howToGet"] for flag in ("--local", "--git", "--server", "checkout"))
    assert app["manifests"] == ""


def test_a_checkout_of_another_repository_is_not_used(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit({"web/web.yaml": DEPLOYMENT})
    repo.git("remote", "set-url", "origin", "https://git.example.com/shop/other.git")
    monkeypatch.chdir(repo.folder)
    app = app_of(diagnosed(whysync, outside, drifted(commit), "-o", "json"))
    assert (app["manifests"], [finding["location"] for finding in app["findings"]][:1]) == ("", [None])


def test_a_checkout_without_the_commit_is_a_gap(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"web/web.yaml": DEPLOYMENT})
    monkeypatch.chdir(repo.folder)
    app = app_of(diagnosed(whysync, outside, drifted("b" * 40), "-o", "json"))
    gap = next(gap for gap in app["gaps"] if gap["kind"] == "not-rendered")
    assert "does not have commit bbbbbbbb" in gap["why"]
    assert "git fetch" in gap["howToGet"]
    assert len([gap for gap in app["gaps"] if gap["kind"] == "not-rendered"]) == 1


def test_local_names_a_checkout_anywhere(whysync: Whysync, repo: GitCheckout, outside: Path) -> None:
    """A clone of a mirror has another remote, but the same commit."""
    commit = repo.commit({"web/web.yaml": DEPLOYMENT})
    repo.git("remote", "set-url", "origin", "https://mirror.example.com/x.git")
    for folder in (repo.folder, repo.folder / "web"):
        text = words(diagnosed(whysync, outside, drifted(commit), "--local", str(folder)))
        assert f"rendered from --local {repo.folder} at {commit[:8]}" in text
        assert "Git 2 → live 5" in text


def test_local_with_rendered_manifests_is_read_as_it_is(
    whysync: Whysync, repo: GitCheckout, outside: Path
) -> None:
    """Even in a checkout: the folder is not part of the commit."""
    commit = repo.commit({"web/web.yaml": DEPLOYMENT})
    rendered = repo.folder / "rendered"
    rendered.mkdir()
    (rendered / "all.yaml").write_text(DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
    text = words(diagnosed(whysync, outside, drifted(commit), "--local", str(rendered)))
    assert "Git 3 → live 5" in text


def test_git_fetches_and_reads_the_heads(
    whysync: Whysync, repo: GitCheckout, outside: Path, tmp_path: Path
) -> None:
    compared = repo.commit({"web/web.yaml": DEPLOYMENT})
    head = repo.commit({"web/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 7")})
    url = f"file://{repo.folder}"
    with cluster(outside, drifted(compared, url=url)) as source:
        asked = whysync("shop", *source, "--git")
        bundle = str(tmp_path / "out")
        assert whysync("collect", "shop", *source, "--git", "-o", bundle).code in (0, 3)
        unasked = app_of(whysync("shop", *source, "-o", "json"))
    assert f"{repo.folder}, fetched at {compared[:8]}" in words(asked)
    assert "Git 2 → live 5" in asked.out
    assert "Git heads" not in asked.out
    assert head in (tmp_path / "out/git/heads.yaml").read_text()
    assert unasked["manifests"] == ""


def test_a_repository_that_cannot_be_fetched_is_a_gap(whysync: Whysync, outside: Path) -> None:
    """The rest of the answer is not affected."""
    url = f"file://{outside}/nothing.git"
    app = app_of(diagnosed(whysync, outside, drifted("b" * 40, url=url), "--git", "-o", "json"))
    whats = [gap["what"] for gap in app["gaps"]]
    assert "rendered manifests of argocd/shop" in whats
    assert f"the current commit of main in {url}" in whats


@pytest.mark.usefixtures("tools")
def test_helm_gets_the_version_and_the_kinds_of_the_cluster(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = DEPLOYMENT.replace("replicas: 2", "replicas: {{ .Values.replicas }}").replace(
        "name: web", f"name: web\n  labels: {{seen: '{VERSION}'}}", 1
    )
    commit = repo.commit(
        {"web/Chart.yaml": CHART, "web/values.yaml": "replicas: 2\n", "web/templates/web.yaml": template}
    )
    monkeypatch.chdir(repo.folder)
    ran = diagnosed(whysync, outside, drifted(commit))
    assert "declared in  web/templates/web.yaml:8" in ran.out
    assert "in web/values.yaml:1" in ran.out
    with cluster(outside, drifted(commit)) as source:
        diff = whysync("diff", "shop", *source).out
    assert "v1.36.4 true" in diff


@pytest.mark.usefixtures("tools")
def test_a_values_file_of_another_source(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`$values` is read at the commit that was compared, although the branch has moved on."""
    template = DEPLOYMENT.replace("replicas: 2", "replicas: {{ .Values.replicas }}")
    commit = repo.commit(
        {"web/Chart.yaml": CHART, "web/templates/web.yaml": template, "env/prod.yaml": "replicas: 3\n"}
    )
    repo.commit({"env/prod.yaml": "replicas: 9\n"})
    objects = drifted(commit)
    spec, status = objects[0]["spec"], objects[0]["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    del spec["source"]
    spec["sources"] = [
        {"repoURL": URL, "path": "web", "targetRevision": "main",
         "helm": {"valueFiles": ["$values/env/prod.yaml"]}},
        {"repoURL": URL, "ref": "values", "targetRevision": "main"},
    ]  # fmt: skip
    status["sync"] = {"status": "OutOfSync", "revisions": [commit, commit]}
    monkeypatch.chdir(repo.folder)
    assert "Git 3 → live 5" in diagnosed(whysync, outside, objects).out


@pytest.mark.usefixtures("tools")
def test_a_kustomization(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit(
        {
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": DEPLOYMENT,
            "web/kustomization.yaml": "resources: [../base]\nreplicas: [{name: web, count: 4}]\n",
        }
    )
    monkeypatch.chdir(repo.folder)
    text = words(diagnosed(whysync, outside, drifted(commit)))
    assert "Git 4 → live 5" in text
    assert "declared in base/web.yaml" in text or "declared in web/kustomization.yaml" in text


def test_what_cannot_be_rendered_is_a_gap(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit({"other/web.yaml": DEPLOYMENT})
    monkeypatch.chdir(repo.folder)
    app = app_of(diagnosed(whysync, outside, drifted(commit), "-o", "json"))
    gap = next(gap for gap in app["gaps"] if gap["kind"] == "not-rendered")
    assert "app path does not exist" in gap["why"]


def test_secrets_of_a_checkout_are_masked(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = "kind: Secret\napiVersion: v1\nmetadata: {name: token}\nstringData: {token: horse-battery-9}\n"
    commit = repo.commit({"web/web.yaml": DEPLOYMENT, "web/secret.yaml": secret})
    monkeypatch.chdir(repo.folder)
    with cluster(outside, drifted(commit)) as source:
        for verb in (("diagnose",), ("diff",), ("diagnose", "-o", "json"), ("fix",)):
            ran = whysync(*verb, "shop", *source)
            assert "horse-battery" not in ran.out + ran.err
        whysync("collect", "shop", *source, "-o", str(tmp_path / "out"))
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any("token" in path.read_text() for path in files)
    assert not any("horse-battery" in path.read_text() for path in files)


def test_lines_beside_the_manifests_of_argo_cd(
    whysync: Whysync, repo: GitCheckout, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--server`, the desired state is Argo CD's; a checkout adds where it is declared."""
    commit = repo.commit({"web/web.yaml": DEPLOYMENT})
    objects = drifted(commit)
    scene = of(Manifest(objects[0], role=Role.APPLICATION))
    monkeypatch.chdir(repo.folder)
    with ArgoCD(scene) as argocd, cluster(outside, objects) as source:
        both = app_of(whysync("shop", *at(argocd), *source, "-o", "json"))
        git = app_of(whysync("shop", *at(argocd), "--git", "-o", "json"))
    assert both["findings"][0]["location"]["line"] == 7
    assert any("the current commit of main" in gap["what"] for gap in git["gaps"])
