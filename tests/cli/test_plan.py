"""`whysync plan` on the command line: forms, exit codes, bad usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.plan.shop import APP, CLAIM, CONFIG, DEPLOYMENT, HOOK, HPA, PASSWORD, SECRET, Shop
from whysync.lab.bundle import write_bundle
from whysync.plan.checkout import open_checkout
from whysync.plan.planner import plan
from whysync.reports.plan_markdown import LONGEST


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    repo = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    monkeypatch.chdir(repo.folder)
    return repo


@pytest.fixture
def failing(shop: Shop) -> Shop:
    shop.put("hook.yaml", f"{HOOK}---\n{HPA}")
    shop.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
    shop.remove("secret.yaml")
    return shop


@pytest.mark.usefixtures("failing")
def test_the_verdict_comes_first_and_the_fix_is_proven_on_both(whysync: Whysync) -> None:
    result = whysync("plan", "apps/shop", "--base", "main")
    assert (result.code, result.err) == (1, "")
    first = " ".join(result.out.split())
    assert first.startswith(
        "Would fail. shop: hook Job shop/smoke-test (PreSync, wave -1) needs Service shop"
    )
    assert "✗ Job smoke-test … waits for Service/shop … deadline 600 s" in first
    assert "on a cluster with the base would pass" in first
    assert "on an empty cluster would fail after 10 min" in first
    assert "+ HorizontalPodAutoscaler shop ~ Deployment shop (restart of 2 pods)" in first
    assert "− Secret old-token (pruned! its data is deleted with it)" in first
    assert "Run the hook after the sync: as a PostSync hook ✓ proven" in first
    assert "with it the sync passes on an empty cluster and on one with the base" in first
    assert PASSWORD not in result.out
    assert "    apply  " not in result.out, "whysync fix would look at a cluster, and this is none"


@pytest.mark.usefixtures("failing")
def test_as_data(whysync: Whysync) -> None:
    result = whysync("plan", "apps/shop", "--base", "main", "-o", "json", "--no-proof")
    document = json.loads(result.out)
    assert document["plan"]["verdict"] == "fail"
    (app,) = document["plan"]["apps"]
    assert [(run["cluster"], run["verdict"]) for run in app["runs"]] == [("base", "pass"), ("empty", "fail")]
    assert {change["change"] for change in app["changes"]} == {"create", "change", "prune", "hook"}
    assert document["apps"][0]["findings"][0]["cause"] == "hook-deadlock"
    assert result.out == whysync("plan", "apps/shop", "--base", "main", "-o", "json", "--no-proof").out


@pytest.mark.usefixtures("failing")
def test_as_a_comment(whysync: Whysync) -> None:
    result = whysync("plan", "--base", "main", "-o", "markdown", "--no-proof")
    assert result.out.startswith("## ❌ Would fail\n")
    assert len(result.out) <= LONGEST
    assert "| − | Secret old-token" in result.out


def test_a_comment_fits_whatever_changes(whysync: Whysync, shop: Shop) -> None:
    apps = {
        f"argocd/a{n}.yaml": APP.replace("name: shop", f"name: a{n}").replace("apps/shop", f"apps/a{n}")
        for n in range(30)
    }
    maps = "---\n".join(CONFIG.replace("name: shop", f"name: {'x' * 200}{n}") for n in range(60))
    shop.commit({**apps, **{f"apps/a{n}/a.yaml": maps for n in range(30)}})
    result = whysync("plan", "--base", "main", "-o", "markdown", "--no-proof", "--empty")
    assert result.code == 0
    assert 20_000 < len(result.out) <= LONGEST
    assert "There is no room here" in result.out


def test_each_cluster_on_which_it_fails_has_its_own_cause(whysync: Whysync, shop: Shop) -> None:
    """With the base it is the selector, on an empty cluster the ConfigMap."""
    asks = 'envFrom: [{configMapRef: {name: shops}}], image: "shop:1.0"'
    changed = DEPLOYMENT.replace("app: shop", "app: other").replace('image: "shop:1.0"', asks)
    shop.put("deployment.yaml", changed)
    ran = " ".join(whysync("plan", "--base", "main", "--no-proof").out.split())
    assert "shop: Deployment shop/shop: spec.selector is immutable" in ran
    rest = ran.partition("on an empty cluster would fail after")[2]
    assert "Deployment shop/shop needs ConfigMap shop/shops, which does not exist" in rest


def test_nothing_changes(whysync: Whysync, shop: Shop) -> None:
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\n"
    shop.commit({"README.md": "x", "cm.yaml": f"{settings}data: {{kustomize.buildOptions: --enable-helm}}\n"})
    result = whysync("plan", "--base", "main")
    assert (result.code, result.out) == (0, "Nothing changes: 1 app is not touched.\n")
    comment = whysync("plan", "--base", "main", "-o", "markdown")
    assert comment.out == "✅ Nothing changes: 1 app is not touched.\n"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ((), 1),
        (("--fail-on-verdict", "delete"), 1),
        (("--fail-on-verdict", "fail"), 0),
        (("--exit-zero",), 0),
    ],
)
def test_a_deletion_has_an_exit_code(whysync: Whysync, shop: Shop, flags: tuple[str, ...], code: int) -> None:
    shop.put("claim.yaml", CLAIM)
    shop.commit({})
    shop.git("branch", "-f", "main")
    shop.remove("claim.yaml")
    result = whysync("plan", "--base", "main", *flags)
    assert (result.code, result.out.split("  ")[0]) == (code, "Would delete.")


def test_an_unknown_verdict_has_an_exit_code(whysync: Whysync, shop: Shop) -> None:
    set_of_plugin = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\n"
    shop.commit(
        {"argocd/set.yaml": f"{set_of_plugin}spec: {{generators: [{{plugin: {{}}}}], template: {{}}}}\n"}
    )
    assert whysync("plan", "--base", "main").code == 3
    assert whysync("plan", "--base", "main", "--fail-on-verdict", "unknown").code == 1


@pytest.mark.parametrize("value", ["", "no", "fail,passed", ","])
def test_a_wrong_verdict_is_refused(whysync: Whysync, value: str) -> None:
    result = whysync("plan", "--fail-on-verdict", value)
    assert result.code == 2
    assert "fail, delete, unknown" in result.err


def test_an_app_by_its_name_and_by_its_file(whysync: Whysync, shop: Shop) -> None:
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    by_name = whysync("plan", "shop", "--base", "main")
    assert by_name.code == 0
    assert by_name.out.startswith("Would pass.    shop")
    assert whysync("plan", "--app", "argocd/shop.yaml", "--base", "main").out == by_name.out
    assert whysync("plan", "argocd/shop.yaml", "--base", "main").out == by_name.out


def test_facts_of_a_cluster(whysync: Whysync, shop: Shop, tmp_path: Path) -> None:
    empty = shop.git("commit-tree", "-m", "x", shop.git("hash-object", "-t", "tree", "/dev/null"))
    with open_checkout(str(shop.folder), base=empty) as checkout:
        snapshot = plan(checkout, keep=True).apps[0].runs[-1].snapshot
    assert snapshot is not None
    write_bundle(snapshot, tmp_path / "bundle")
    shop.put("hook.yaml", HOOK)
    result = whysync("plan", "--base", "main", "--live", str(tmp_path / "bundle"), "--no-proof")
    flat = " ".join(result.out.split())
    assert result.code == 1
    assert "on the cluster as it is now would pass" in flat
    assert "on an empty cluster would fail" in flat


def test_a_broken_manifest(whysync: Whysync, shop: Shop) -> None:
    shop.put("config.yaml", f"{CONFIG}  bad: [\n")
    result = whysync("plan", "--base", "main")
    assert result.code == 1
    assert "config.yaml is not valid YAML" in " ".join(result.out.split())
    assert "on any cluster" in result.out


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
@pytest.mark.parametrize(
    "values", ["data: {token: %s}", "stringData: {token: [%s]}", "data: %s", "stringData: {'a b': %s}"]
)
def test_a_refused_secret_is_not_shown(whysync: Whysync, shop: Shop, format: str, values: str) -> None:
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: new}\n"
    shop.put("new.yaml", f"{head}{values.replace('%s', PASSWORD)}\n")
    result = whysync("plan", "--base", "main", "-o", format, "--no-proof")
    assert result.code == 1
    assert PASSWORD not in result.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--base", "nope"], "--base 'nope' is no commit"),
        (["nothing-here", "--base", "main"], "neither a path nor an Application 'nothing-here'"),
        (["--app", "README", "--base", "main"], "no such file in the head revision"),
        (["--app", "apps/shop/config.yaml", "--base", "main"], "contains no Application"),
        (["/", "--base", "main"], "in no Git checkout"),
        (["--live", "x", "--empty"], "mutually exclusive"),
        (["--live", "x", "--base", "main"], "there is no x"),
        (["-o", "sarif"], "sarif"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_bad_usage(whysync: Whysync, arguments: list[str], expected: str) -> None:
    result = whysync("plan", *arguments)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err
