"""AppProjects in Git: a plan respects what they permit, and what the commit changes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.shop import APP, CONFIG, Shop
from tests.plan.test_plan import only_app, planned_changes
from whysync.plan.plan import AppPlan, AssumptionKind, Verdict

CLUSTER = "https://kubernetes.default.svc"
PROJECT = f"""\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {{name: shop, namespace: argocd}}
spec:
  sourceRepos: ["https://git.example.org/team/shop.git"]
  destinations: [{{server: "{CLUSTER}", namespace: shop}}]
  clusterResourceWhitelist: [{{group: "", kind: Namespace}}]
"""
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop}\nrules: []\n"
OF_PROJECT = APP.replace("project: default", "project: shop")
CHANGED = CONFIG.replace("hello", "hi")


class ShopWithProject(Shop):
    def __init__(self, folder: Path, project: str = PROJECT, app: str = OF_PROJECT) -> None:
        super().__init__(folder)
        self.git("checkout", "-q", "main")
        self.commit({"argocd/shop.yaml": app, "argocd/project.yaml": project})
        self.git("checkout", "-q", "-B", "feature")

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def planned(self) -> AppPlan:
        return only_app(planned_changes(self))


@pytest.fixture
def shop(tmp_path: Path) -> ShopWithProject:
    return ShopWithProject(tmp_path / "shop")


def failure(app: AppPlan) -> str:
    assert app.verdict is Verdict.FAIL
    assert app.decisive is not None
    items = (item for step in app.decisive.steps for item in step.items)
    return " ".join((app.decisive.message, *(item.note for item in items)))


def test_what_the_project_permits_passes(shop: ShopWithProject) -> None:
    shop.put("config.yaml", CHANGED)
    app = shop.planned()
    assert app.verdict is Verdict.PASS
    assert not [one for run in app.runs for one in run.assumptions if one.kind is AssumptionKind.PROJECT]


def test_a_kind_that_the_project_does_not_permit(shop: ShopWithProject) -> None:
    shop.put("role.yaml", ROLE)
    assert "ClusterRole is not permitted in project shop" in failure(shop.planned())


def test_a_namespace_that_the_project_does_not_permit(shop: ShopWithProject) -> None:
    shop.put("config.yaml", CONFIG.replace("name: shop", "name: shop, namespace: kube-system"))
    assert "namespace kube-system is not permitted in project 'shop'" in failure(shop.planned())


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("namespace: shop}", "namespace: other}", "do not match any of the allowed destinations"),
        ("team/shop.git", "team/other.git", "is not permitted in project 'shop'"),
        ("kind: Namespace", "kind: Node", "Namespace is not permitted in project shop"),
    ],
)
def test_a_project_that_no_longer_permits_an_unchanged_app(
    shop: ShopWithProject, before: str, after: str, message: str
) -> None:
    shop.put("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    shop.commit({})
    shop.git("branch", "-f", "main")
    shop.write("argocd/project.yaml", PROJECT.replace(before, after))
    assert message in failure(shop.planned())


def test_a_project_that_leaves_git(shop: ShopWithProject) -> None:
    (shop.folder / "argocd/project.yaml").unlink()
    assert "project shop which does not exist" in failure(shop.planned())


def test_a_project_that_is_not_in_git_is_an_assumption(tmp_path: Path) -> None:
    shop = ShopWithProject(tmp_path / "shop", project="")
    shop.put("config.yaml", CHANGED)
    app = shop.planned()
    assert app.verdict is Verdict.PASS
    assert AssumptionKind.PROJECT in {one.kind for run in app.runs for one in run.assumptions}


def test_sync_windows_and_roles_touch_no_app(shop: ShopWithProject) -> None:
    windows = '  syncWindows: [{kind: deny, schedule: "* * * * *", duration: 1h, applications: ["*"]}]\n'
    shop.write("argocd/project.yaml", PROJECT + windows)
    assert planned_changes(shop).apps == ()


def test_two_projects_of_one_name_of_which_one_permits_the_app(shop: ShopWithProject) -> None:
    shop.write("other/project.yaml", PROJECT.replace("namespace: shop}", "namespace: other}"))
    shop.put("config.yaml", CHANGED)
    app = shop.planned()
    assert app.verdict is Verdict.UNKNOWN
    assert [gap.what for gap in app.unseen] == ["AppProject shop"]


def test_two_projects_of_one_name_that_both_permit_the_app(shop: ShopWithProject) -> None:
    shop.write("other/project.yaml", PROJECT.replace("kind: Namespace", 'kind: "*"'))
    shop.put("config.yaml", CHANGED)
    assert shop.planned().verdict is Verdict.PASS


@pytest.mark.parametrize(("server", "verdict"), [("https://10.0.0.1", Verdict.PASS), ("", Verdict.UNKNOWN)])
def test_a_cluster_that_the_app_names_differently_than_the_project(
    tmp_path: Path, server: str, verdict: Verdict
) -> None:
    app = OF_PROJECT.replace(f'server: "{CLUSTER}"', "name: prod")
    shop = ShopWithProject(tmp_path / "shop", PROJECT.replace(CLUSTER, "https://10.0.0.1"), app)
    if server:
        cluster = (
            "apiVersion: v1\nkind: Secret\n"
            "metadata: {name: prod, labels: {argocd.argoproj.io/secret-type: cluster}}\n"
            f"stringData: {{name: prod, server: '{server}'}}\n"
        )
        shop.write("argocd/cluster.yaml", cluster)
        shop.commit({})
        shop.git("branch", "-f", "main")
    shop.put("config.yaml", CHANGED)
    assert shop.planned().verdict is verdict


def test_a_project_that_an_application_renders(tmp_path: Path) -> None:
    root = APP.replace("name: shop,", "name: root,").replace("path: apps/shop", "path: projects")
    shop = ShopWithProject(tmp_path / "shop", project=root)
    chart = "apiVersion: v2\nname: projects\nversion: 1.0.0\n"
    template = PROJECT.replace("namespace: shop}", "namespace: {{ .Values.namespace }}}")
    shop.commit(
        {
            "projects/Chart.yaml": chart,
            "projects/values.yaml": "namespace: shop\n",
            "projects/templates/project.yaml": template,
        }
    )
    shop.git("branch", "-f", "main")
    shop.write("projects/values.yaml", "namespace: other\n")
    verdicts = {app.name: app.verdict for app in planned_changes(shop).apps}
    assert verdicts == {"argocd/root": Verdict.PASS, "argocd/shop": Verdict.FAIL}


NO_NAMESPACES = PROJECT.replace('clusterResourceWhitelist: [{group: "", kind: Namespace}]', "")


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_namespace_that_another_app_declares_exists(tmp_path: Path, is_declared: bool) -> None:
    """The project forbids `CreateNamespace=true` to create it."""
    app = OF_PROJECT.replace("name: shop,", "name: new,").replace("apps/shop", "apps/new")
    shop = ShopWithProject(tmp_path / "shop", PROJECT)
    spaces = APP.replace("name: shop,", "name: spaces,").replace("apps/shop", "apps/spaces")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n" if is_declared else CONFIG
    shop.commit(
        {
            "argocd/project.yaml": NO_NAMESPACES,
            "argocd/new.yaml": app,
            "argocd/spaces.yaml": spaces,
            "apps/new/config.yaml": CONFIG.replace("name: shop", "name: new"),
            "apps/spaces/namespace.yaml": namespace,
        }
    )
    verdicts = {app.title: app.verdict for app in planned_changes(shop).apps}
    assert verdicts["new"] is (Verdict.PASS if is_declared else Verdict.FAIL)
    assert verdicts["shop"] is Verdict.PASS  # the base deploys to it: it exists


def test_only_clusters_of_the_project_are_permitted(tmp_path: Path) -> None:
    """A Secret that is not in Git may make the cluster one of the project."""
    project = PROJECT.replace("spec:", "spec:\n  permitOnlyProjectScopedClusters: true")
    shop = ShopWithProject(tmp_path / "shop", project)
    shop.put("config.yaml", CHANGED)
    app = shop.planned()
    assert app.verdict is Verdict.UNKNOWN
    assert app.unseen[0].how_to_get == "give the clusters with --clusters FILE"
    label = "argocd.argoproj.io/secret-type: cluster"
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: own, labels: {{{label}}}}}\n"
    for owner, verdict in (("shop", Verdict.PASS), ("other", Verdict.FAIL)):
        data = f'stringData: {{name: in-cluster, server: "{CLUSTER}", project: {owner}}}\n'
        shop.write("argocd/cluster.yaml", secret + data)
        assert shop.planned().verdict is verdict
