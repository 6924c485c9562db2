"""Plans whose sources need the real tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.render.test_hostile import CHART, CM
from tests.plan.shop import APP, Shop
from tests.plan.test_plan import planned_changes
from whysync.argocd.repo_server.render import RenderOptions
from whysync.plan.plan import Verdict

HELM_CHARTS = """\
resources: [service.yaml, config.yaml, deployment.yaml]
helmCharts: [{name: c, releaseName: a}]
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data: {kustomize.buildOptions: --enable-helm}
"""


@pytest.fixture
def shop(tmp_path: Path, options: RenderOptions) -> Shop:
    """A shop whose commit adds a chart to a kustomization."""
    assert options.tools is not None
    repo = Shop(tmp_path / "shop")
    repo.commit(
        {
            "apps/shop/kustomization.yaml": HELM_CHARTS,
            "apps/shop/charts/c/Chart.yaml": CHART.replace("shop", "c"),
            "apps/shop/charts/c/values.yaml": "{}",
            "apps/shop/charts/c/templates/a.yaml": CM % "from-the-chart",
        }
    )
    return repo


def test_helm_charts_of_a_kustomization_need_the_settings(shop: Shop) -> None:
    (app,) = planned_changes(shop).apps
    assert app.verdict is Verdict.UNKNOWN
    (gap,) = app.unseen
    assert gap.what == "its helmCharts"
    assert "--settings FILE" in gap.how_to_get


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("argocd-cm.yaml", SETTINGS),
        ("values.yaml", "argo-cd: {configs: {cm: {kustomize.buildOptions: --enable-helm}}}\n"),
        (
            "argocd.yaml",
            "apiVersion: argoproj.io/v1beta1\nkind: ArgoCD\nspec: {kustomizeBuildOptions: --enable-helm}\n",
        ),
    ],
)
def test_helm_charts_with_the_settings_of_the_repository(shop: Shop, file: str, content: str) -> None:
    shop.commit({f"bootstrap/{file}": content})
    plan = planned_changes(shop)
    (app,) = plan.apps
    assert app.verdict is Verdict.PASS
    assert "from-the-chart" in {change.ref.name for change in app.changes}
    assert plan.notes == (f"kustomize.buildOptions is '--enable-helm', from bootstrap/{file}",)


def test_settings_of_the_repository_that_disagree(shop: Shop) -> None:
    shop.commit({"a.yaml": SETTINGS, "b.yaml": SETTINGS.replace("--enable-helm", "--enable-alpha")})
    (app,) = planned_changes(shop).apps
    assert app.verdict is Verdict.UNKNOWN


_PLUGIN = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: secrets}\nfiles: [secret.enc.yaml]\n"
_BUILT_IN = (
    "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: team}\nannotations: {team: shop}\n"
    "fieldSpecs: [{path: metadata/annotations, create: true}]\n"
)


@pytest.mark.parametrize(
    ("flags", "plugin", "verdict"),
    [
        ("", _PLUGIN, Verdict.UNKNOWN),
        ("--enable-alpha-plugins --enable-exec", _PLUGIN, Verdict.UNKNOWN),
        ("--enable-helm", _PLUGIN, Verdict.FAIL),
        ("", _BUILT_IN, Verdict.PASS),
        ("--enable-alpha-plugins --enable-exec", _BUILT_IN, Verdict.PASS),
    ],
)
def test_plugins_of_kustomize(shop: Shop, flags: str, plugin: str, verdict: Verdict) -> None:
    """Options for plugins change nothing for a kustomization that uses none."""
    settings = {"settings.yaml": SETTINGS.replace("--enable-helm", flags)} if flags else {}
    kustomization = "resources: [config.yaml]\ntransformers: [plugin.yaml]\n"
    shop.commit({**settings, "apps/shop/kustomization.yaml": kustomization, "apps/shop/plugin.yaml": plugin})
    (app,) = planned_changes(shop).apps
    assert app.verdict is verdict


def test_an_application_that_a_kustomization_patches_is_planned_as_rendered(
    tmp_path: Path, options: RenderOptions
) -> None:
    """A base with a placeholder for each cluster, and a patch that is a part of an Application."""
    assert options.tools is not None
    shop = Shop(tmp_path / "shop")
    wiki = APP.replace("name: shop,", "name: wiki,").replace(
        "targetRevision: main", "targetRevision: nowhere"
    )
    patch = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: wiki, namespace: argocd}\n"
    shop.commit(
        {
            "argocd/root.yaml": APP.replace("apps/shop", "clusters/a").replace("name: shop,", "name: root,"),
            "clusters/base/wiki.yaml": wiki,
            "clusters/base/kustomization.yaml": "resources: [wiki.yaml]\n",
            "clusters/a/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
            "clusters/a/patch.yaml": f"{patch}spec: {{source: {{targetRevision: main}}}}\n",
        }
    )
    plan = planned_changes(shop)
    assert {app.name: app.verdict for app in plan.apps} == {
        "argocd/root": Verdict.PASS,
        "argocd/wiki": Verdict.PASS,
    }
