"""`targetRevision: HEAD`, checkouts without a remote, and addresses with a user name, on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.argocd.repo_server.git.conftest import GitCheckout
from tests.cli.running import Whysync
from tests.plan.shop import CONFIG
from tests.situations import ROOT

URL = "https://git.example.com/x.git"
EXAMPLE = ROOT / "examples/autoscaler-loop"


def application(url: str, revision: str) -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\n"
        "spec:\n  project: default\n"
        "  destination: {server: https://kubernetes.default.svc, namespace: shop}\n"
        f"  source: {{repoURL: '{url}', path: p, targetRevision: '{revision}'}}\n"
        "  syncPolicy: {syncOptions: [CreateNamespace=true]}\n"
    )


class Checkout(GitCheckout):
    def __init__(self, folder: Path, *, origin: str = "", app: str = "") -> None:
        super().__init__(folder)
        if origin:
            self.git("remote", "add", "origin", origin)
        self.commit({"p/config.yaml": CONFIG, **({"app.yaml": app} if app else {})})
        self.git("tag", "v1.0.0")
        self.git("checkout", "-q", "-b", "feature")
        self.commit({"p/config.yaml": CONFIG.replace("hello", "goodbye")})


def planned(whysync: Whysync, *arguments: str) -> str:
    done = whysync("plan", *arguments, "--base", "main", "--head", "feature")
    assert done.code == 0, done
    assert "does not exist" not in done.out
    return " ".join(done.out.split())


def test_plan_of_a_folder_without_a_remote(
    tmp_path: Path, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Checkout(tmp_path / "shop").folder)
    out = planned(whysync, "p")
    assert "on a cluster with the base would pass" in out
    assert "on an empty cluster would pass" in out


@pytest.mark.parametrize("revision", ["HEAD", "refs/heads/main"])
@pytest.mark.parametrize("origin", ["", URL, "git@git.example.com:x.git", "https://me@git.example.com/x"])
@pytest.mark.parametrize(
    "url",
    [
        URL,
        "https://bot@git.example.com/x.git",
        "https://bot:token@git.example.com/x",
        "git@git.example.com:x",
    ],
)
def test_plan_knows_the_repository_of_the_checkout(
    url: str, origin: str, revision: str, tmp_path: Path, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Checkout(tmp_path / "shop", origin=origin, app=application(url, revision)).folder)
    out = planned(whysync)
    assert "on a cluster with the base would pass" in out
    assert "~ ConfigMap shop (/data/greeting)" in out


def test_plan_of_a_tag_with_a_user_name_in_the_address(
    tmp_path: Path, whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application("https://bot@git.example.com/x.git", "v1.0.0")
    monkeypatch.chdir(Checkout(tmp_path / "shop", origin=URL, app=app).folder)
    assert "Nothing changes" in planned(whysync)


@pytest.mark.parametrize(
    "url", ["https://bot@git.example.com/platform/deploy.git", "ssh://git@git.example.com/deploy"]
)
@pytest.mark.parametrize("revision", ["HEAD", "''"])
def test_diagnose_and_its_proofs(url: str, revision: str, tmp_path: Path, whysync: Whysync) -> None:
    usual = whysync("diagnose", "--bundle", str(EXAMPLE))
    folder = _changed(tmp_path, url, revision)
    done = whysync("diagnose", "--bundle", str(folder))
    assert done.out.replace(str(folder), str(EXAMPLE)) == usual.out
    assert done.out.count("✓ proven") == 2


@pytest.mark.parametrize(
    "repo", ["https://git.example.com/platform/deploy", "https://me@git.example.com/platform/deploy.git"]
)
def test_diagnose_finds_the_head_of_a_repository(repo: str, tmp_path: Path, whysync: Whysync) -> None:
    folder = _changed(tmp_path, "https://bot@git.example.com/platform/deploy.git", "HEAD")
    (folder / "git").mkdir()
    commit = "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544"
    (folder / "git/heads.yaml").write_text(f"[{{repo: '{repo}', revision: HEAD, commit: {commit}}}]\n")
    out = whysync("diagnose", "--bundle", str(folder)).out
    assert "Argo CD's settings" in out
    assert "Git heads" not in out


def _changed(tmp_path: Path, url: str, revision: str) -> Path:
    folder = tmp_path / "bundle"
    shutil.copytree(EXAMPLE, folder)
    app = folder / "applications/my-api-service.yaml"
    text = app.read_text()
    assert "https://git.example.com/platform/deploy.git" in text
    text = text.replace("https://git.example.com/platform/deploy.git", url)
    app.write_text(text.replace("targetRevision: main", f"targetRevision: {revision}"))
    return folder
