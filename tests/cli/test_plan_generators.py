"""`whysync plan --clusters`, `--generator-values` and `--settings`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.argocd.application_sets.test_expand import a_set
from tests.cli.running import Whysync
from tests.plan.shop import CONFIG, Shop
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    repo = Shop(tmp_path / "shop")
    monkeypatch.chdir(repo.folder)
    return repo


def test_files_of_clusters_and_recorded_answers(shop: Shop, tmp_path: Path, whysync: Whysync) -> None:
    clusters: Json = {"clusters": {}}
    pulls: Json = {"pullRequest": {"github": {"owner": "o", "repo": "r"}}}
    matrix: Json = {"matrix": {"generators": [pulls, clusters]}}
    body = a_set(matrix, name="pr-{{number}}-{{name}}", path="apps/wiki")
    shop.commit({"argocd/shop.yaml": yaml.dump(body)})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/wiki/a.yaml": CONFIG})
    (tmp_path / "clusters.json").write_text(
        '{"items": [{"name": "us", "server": "https://us", "labels": {}}]}'
    )
    (tmp_path / "values.yaml").write_text("set: {pullRequest: [{number: 7}, {number: 8}]}\n")
    command = ("plan", "--base", "main", "--no-proof", "--empty", "-o", "json")
    without = whysync(*command)
    assert without.code == 3
    assert "record the answer with --generator-values FILE" in without.out
    values = ("--generator-values", str(tmp_path / "values.yaml"))
    half = whysync(*command, *values)
    assert half.code == 3
    assert "give them with --clusters FILE" in half.out
    both = whysync(*command, *values, "--clusters", str(tmp_path / "clusters.json"))
    assert both.code == 0
    assert [app["name"] for app in json.loads(both.out)["plan"]["apps"]] == [
        "argocd/pr-7-in-cluster", "argocd/pr-7-us", "argocd/pr-8-in-cluster", "argocd/pr-8-us",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flag", "content", "why"),
    [
        ("--clusters", "- {name: a}\n", "an entry has no name or server"),
        ("--clusters", "a: [", "is no YAML or JSON"),
        ("--clusters", None, "cannot be read"),
        ("--generator-values", "set: {clusters: []}\n", "set.clusters is no recorded answer"),
        ("--generator-values", "set: {plugin: {}}\n", "set.plugin is no recorded answer"),
        ("--settings", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: other}\n", "argocd-cm not found"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_invalid_files(tmp_path: Path, whysync: Whysync, flag: str, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "file.yaml").write_text(content)
    result = whysync("plan", "--base", "main", flag, str(tmp_path / "file.yaml"))
    assert result.code == 2
    assert why in " ".join(result.err.split())


def test_settings_of_argocd(shop: Shop, tmp_path: Path, whysync: Whysync) -> None:
    """With `kustomize.buildOptions`, the plan does not ask for it; Kustomize itself may be missing here."""
    shop.commit({"apps/shop/kustomization.yaml": "helmCharts: [{name: c}]\n"})
    command = ("plan", "--base", "main", "--no-proof", "--empty")
    settings = tmp_path / "argocd-cm.yaml"
    settings.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\n"
        "data: {kustomize.buildOptions: --mount=src=/}\n"
    )
    result = whysync(*command, "--settings", str(settings))
    assert result.code == 3
    assert "kustomize.buildOptions has --mount=src=/" in " ".join(result.out.split())
