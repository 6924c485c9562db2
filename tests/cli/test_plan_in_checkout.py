"""Causes and fixes of a plan in the files of the checkout, and in the words of the future."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.plan.shop import APP, CONFIG, DEPLOYMENT, HOOK, SERVICE, Shop
from whysync.argocd.repo_server.render.options import ToolMissing
from whysync.argocd.repo_server.render.tools import helm

ENDLESS = HOOK.replace("  activeDeadlineSeconds: 600\n", "")
SECOND_SERVICE = SERVICE.replace("name: shop", "name: web")
BAD_DEPLOYMENT = DEPLOYMENT.replace("replicas: 2", "replicas: two")
CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
HOME = os.environ["HOME"]


def has_helm() -> bool:
    try:
        helm()
    except ToolMissing:
        return False
    return True


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    repo = Shop(tmp_path / "shop")
    monkeypatch.chdir(repo.folder)
    return repo


def planned(whysync: Whysync, *flags: str) -> str:
    return whysync("plan", "--base", "main", *flags).out


def test_a_hook_would_fail(whysync: Whysync, shop: Shop) -> None:
    shop.put("hook.yaml", HOOK)
    text = " ".join(planned(whysync).split())
    for phrase in ("sync now", "argocd app", "terminate", "has been waiting", "failed"):
        assert phrase not in text, phrase


def test_a_sync_that_would_not_end(whysync: Whysync, shop: Shop) -> None:
    """An endless hook is described as what would happen, without commands for a sync that runs."""
    shop.put("hook.yaml", ENDLESS.replace("http://shop:80", "http://shop:81"))
    shop.put("service.yaml", SERVICE.replace("port: 80,", "port: 81,"))
    text = " ".join(planned(whysync, "--empty", "--no-proof", "-o", "wide").split())
    assert "Would fail." in text
    for phrase in ("sync now", "argocd app", "terminate-op", "has been waiting"):
        assert phrase not in text, phrase


def test_a_diff_applies_with_git(whysync: Whysync, shop: Shop) -> None:
    shop.put("hook.yaml", HOOK)
    document = json.loads(planned(whysync, "-o", "json", "--no-proof"))
    (cause, *_) = document["plan"]["apps"][0]["causes"]
    assert cause["location"] == {"file": "apps/shop/hook.yaml", "line": 2}
    (fix, *_) = cause["fixes"]
    assert fix["location"] == {"file": "apps/shop/hook.yaml", "line": 6}
    subprocess.run(["git", "apply", "-"], input=fix["diff"].encode(), cwd=shop.folder, check=True)
    assert "hook: PostSync" in (shop.folder / "apps/shop/hook.yaml").read_text()
    assert whysync("plan", "--base", "main", "--no-proof").code == 0, "with the fix it would pass"


def test_the_diff_of_a_comment_applies_too(whysync: Whysync, shop: Shop) -> None:
    shop.put("hook.yaml", HOOK)
    comment = planned(whysync, "-o", "markdown", "--no-proof")
    diff = comment.partition("```diff\n")[2].partition("```")[0]
    subprocess.run(["git", "apply", "--check", "-"], input=diff.encode(), cwd=shop.folder, check=True)


def test_the_line_of_a_field(whysync: Whysync, shop: Shop) -> None:
    """The second document of a file, below a comment."""
    shop.put("deployment.yaml", f"# config\n{CONFIG}---\n# web\n{BAD_DEPLOYMENT}")
    line = f"# config\n{CONFIG}---\n# web\n{BAD_DEPLOYMENT}".splitlines().index("  replicas: two") + 1
    assert f"apps/shop/deployment.yaml:{line}" in planned(whysync, "--no-proof")
    annotation = planned(whysync, "--no-proof", "-o", "github")
    assert (
        f"::error file=apps/shop/deployment.yaml,line={line},title=whysync plan%3A would fail::" in annotation
    )


def test_an_annotation_is_on_a_changed_line(whysync: Whysync, shop: Shop) -> None:
    """What is removed from a file is annotated there, not in the Application."""
    shop.commit({"apps/shop/all.yaml": f"{CONFIG.replace('name: shop', 'name: other')}---\n{SECOND_SERVICE}"})
    shop.git("branch", "-f", "main", "HEAD")
    claim = "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n"
    shop.commit({"apps/shop/all.yaml": f"{CONFIG.replace('name: shop', 'name: other')}---\n{claim}"})
    shop.git("branch", "-f", "main", "HEAD")
    shop.put("all.yaml", CONFIG.replace("name: shop", "name: other"))
    annotation = planned(whysync, "--no-proof", "-o", "github")
    assert annotation.startswith("::error file=apps/shop/all.yaml,line="), annotation


@pytest.mark.skipif(not has_helm(), reason="there is no Helm here")
def test_the_line_of_a_template_and_of_a_value(
    whysync: Whysync, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", HOME)  # its cache has Helm
    template = DEPLOYMENT.replace("replicas: 2", "replicas: {{ .Values.replicas }}")
    app = APP.replace("name: shop,", "name: chart,").replace("apps/shop", "charts/shop")
    files = {
        "argocd/chart.yaml": app.replace("namespace: shop}", "namespace: chart}"),
        "charts/shop/Chart.yaml": CHART,
        "charts/shop/values.yaml": "# how many\nreplicas: 2\n",
        "charts/shop/templates/web.yaml": template,
    }
    shop.commit(files)
    shop.git("branch", "-f", "main", "HEAD")
    (shop.folder / "charts/shop/values.yaml").write_text("# how many\nreplicas: -1\n")
    document = json.loads(planned(whysync, "-o", "json", "--no-proof", "chart"))
    (cause, *_) = document["plan"]["apps"][0]["causes"]
    line = template.splitlines().index("  replicas: {{ .Values.replicas }}") + 1
    assert cause["location"] == {"file": "charts/shop/templates/web.yaml", "line": line}
    (fix, *_) = cause["fixes"]
    assert fix["location"] == {"file": "charts/shop/values.yaml", "line": 2}
    subprocess.run(["git", "apply", "-"], input=fix["diff"].encode(), cwd=shop.folder, check=True)
    assert (shop.folder / "charts/shop/values.yaml").read_text() == "# how many\nreplicas: 2\n"


def test_a_root_that_the_checkout_does_not_contain(whysync: Whysync, shop: Shop, tmp_path: Path) -> None:
    """Its children are planned; it may be applied by hand, so that no commit contains it."""
    root = tmp_path / "root.yaml"
    root.write_text(APP.replace("name: shop,", "name: root,").replace("apps/shop", "argocd"))
    shop.put("deployment.yaml", BAD_DEPLOYMENT)
    result = whysync("plan", "--base", "main", "--app", str(root), "-o", "json", "--no-proof")
    plan = json.loads(result.out)["plan"]
    assert [(app["name"], app["verdict"]) for app in plan["apps"]] == [("argocd/shop", "fail")]
    assert plan["untouched"] == ["argocd/root"]
    root.write_text(CONFIG)
    assert "contains no Application" in whysync("plan", "--base", "main", "--app", str(root)).err


@pytest.mark.skipif(not has_helm(), reason="there is no Helm here")
def test_the_changed_value_of_a_template_is_annotated(
    whysync: Whysync, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", HOME)  # its cache has Helm
    app = APP.replace("name: shop,", "name: chart,").replace("namespace: shop}", "namespace: chart}")
    app = app.replace("path: apps/shop,", "path: charts/shop, helm: {valueFiles: [prod.yaml]},")
    files = {
        "argocd/chart.yaml": app,
        "charts/shop/Chart.yaml": CHART,
        "charts/shop/prod.yaml": "other: 1\nport: 8080\n",
        "charts/shop/templates/web.yaml": SERVICE.replace("port: 80,", "port: {{ .Values.port }},"),
    }
    shop.commit(files)
    shop.git("branch", "-f", "main", "HEAD")
    (shop.folder / "charts/shop/prod.yaml").write_text("other: 1\nport: 808080\n")
    annotation = planned(whysync, "-o", "github", "--no-proof", "chart")
    assert annotation.startswith("::error file=charts/shop/prod.yaml,line=2,"), annotation


def test_many_apps_fit_on_two_screens(whysync: Whysync, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apps that fail for the same reason are stated once, and assumptions once for all."""
    monkeypatch.setenv("COLUMNS", "100")
    apps = {
        f"argocd/a{n}.yaml": APP.replace("name: shop,", f"name: a{n},")
        .replace("apps/shop", "apps/common" if n < 5 else f"apps/a{n}")
        .replace("    syncOptions: [CreateNamespace=true]\n", "")
        for n in range(27)
    }
    folders = {f"apps/a{n}/a.yaml": CONFIG for n in range(5, 27)}
    shop.commit({**apps, **folders, "apps/common/web.yaml": BAD_DEPLOYMENT})
    text = planned(whysync, "--no-proof")
    assert len(text.splitlines()) <= 60
    assert text.count("apps/common/web.yaml:5") == 1
    assert "a0, a1, a2, a3, a4: " in text
    assert text.count("Namespace shop") == 1, "it is taken for granted once"
    assert "22 of 27 apps" in text
    assert "1 app is not touched: shop" in text
    comment = planned(whysync, "--no-proof", "-o", "markdown")
    summary = comment.partition("<details>")[0]
    assert len(summary.splitlines()) <= 12
    assert comment.count("Namespace shop") == 1
    assert planned(whysync, "--no-proof", "-o", "github").count("::error") == 1
    assert len(planned(whysync, "--no-proof", "-o", "wide").splitlines()) > 150
