"""Plans of Applications that the chart of another Application renders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.argocd.application_sets.test_expand import a_set
from tests.plan.shop import APP, CONFIG, SERVICE, Shop
from tests.plan.test_plan import planned_changes
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml
from whysync.plan.plan import ChangeKind, Plan, PlannedCluster, Verdict
from whysync.reports.plan_summary import statements

CHILD = (
    APP.replace("name: shop,", "name: {{ $name }}, finalizers: [resources-finalizer.argocd.argoproj.io],")
    .replace("path: apps/shop", "path: apps/{{ $name }}")
    .replace("targetRevision: main", "targetRevision: {{ $revision }}")
)
TEMPLATE = f"{{{{- range $name, $revision := .Values.apps }}}}\n---\n{CHILD}{{{{- end }}}}\n"


def root(tmp_path: Path, before: str, after: str, *, prune: bool = True) -> Plan:
    """The plan of a change of the values from which the chart of the root app renders its children."""
    shop = Shop(tmp_path / "shop")
    app = APP.replace("path: apps/shop", "path: root").replace("name: shop,", "name: root,")
    app = app if prune else app.replace("prune: true", "prune: false")
    shop.commit(
        {
            "argocd/shop.yaml": app,
            "root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 1.0.0\n",
            "root/templates/apps.yaml": TEMPLATE,
            "root/values.yaml": f"apps: {before}\n",
            "apps/wiki/config.yaml": CONFIG,
        }
    )
    shop.git("branch", "-f", "main")
    shop.commit({"root/values.yaml": f"apps: {after}\n"})
    return planned_changes(shop)


@pytest.mark.parametrize(("revision", "verdict"), [("main", Verdict.PASS), ("$BRANCH", Verdict.UNKNOWN)])
def test_an_added_app_is_new(tmp_path: Path, revision: str, verdict: Verdict) -> None:
    plan = root(tmp_path, "{}", f"{{wiki: {revision}}}")
    verdicts = {app.name: app.verdict for app in plan.apps}
    assert verdicts == {"argocd/root": Verdict.PASS, "argocd/wiki": verdict}


@pytest.mark.parametrize("prune", [True, False])
def test_a_removed_app_is_deleted_if_the_root_prunes(tmp_path: Path, prune: bool) -> None:
    plan = root(tmp_path, "{shop: main, wiki: main}", "{shop: main}", prune=prune)
    assert plan.untouched == ("argocd/shop",)
    removed = {app.name: [change.sort for change in app.changes] for app in plan.apps if app.is_removed}
    assert removed == ({"argocd/wiki": [ChangeKind.PRUNE]} if prune else {})
    assert plan.verdict is (Verdict.DELETE if prune else Verdict.PASS)


def test_a_chart_of_apps_that_nobody_deploys_is_unknown(tmp_path: Path) -> None:
    """Somebody installed it by hand, with values that are not in Git."""
    shop = Shop(tmp_path / "shop")
    shop.commit({"root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 1.0.0\n"})
    shop.commit({"root/templates/apps.yaml": TEMPLATE, "root/values.yaml": "apps: {wiki: main}\n"})
    plan = planned_changes(shop)
    assert (plan.verdict, plan.apps) == (Verdict.UNKNOWN, ())
    assert "the chart root renders Applications" in plan.not_planned[0]
    assert planned_changes(shop, path="apps/shop").verdict is Verdict.PASS


def test_an_app_that_a_set_of_a_root_no_longer_generates_is_listed_once(tmp_path: Path) -> None:
    """The set is in a file, and another app renders that file too."""
    generator: Json = {"list": {"elements": [{"n": "shop"}, {"n": "wiki"}]}}
    fewer: Json = {"list": {"elements": [{"n": "shop"}]}}
    shop = Shop(tmp_path / "shop")
    root_app = APP.replace("path: apps/shop", "path: root").replace("name: shop,", "name: root,")
    files = {"argocd/shop.yaml": root_app, "apps/wiki/config.yaml": CONFIG}
    shop.commit({**files, "root/set.yaml": yaml.dump(a_set(generator, name="{{n}}", path="apps/{{n}}"))})
    shop.git("branch", "-f", "main")
    shop.commit({"root/set.yaml": yaml.dump(a_set(fewer, name="{{n}}", path="apps/{{n}}"))})
    assert [app.title for app in planned_changes(shop).apps if app.is_removed] == ["wiki"]


def test_an_app_that_moves_to_another_root_may_be_deleted_on_the_way(tmp_path: Path) -> None:
    """Whichever root is synced first decides. The projects of the children exist, so nothing hangs."""
    shop = Shop(tmp_path / "shop")
    child = CHILD.replace("{{ $name }}", "wiki").replace("{{ $revision }}", "main")
    child = child.replace("project: default", "project: team")
    roots = {
        f"argocd/{name}.yaml": APP.replace("path: apps/shop", f"path: {name}").replace(
            "name: shop,", f"name: {name},"
        )
        for name in ("old", "new")
    }
    files = {"apps/wiki/config.yaml": CONFIG, "old/config.yaml": CONFIG, "new/config.yaml": CONFIG}
    shop.commit({**roots, **files, "old/wiki.yaml": child})
    shop.git("branch", "-f", "main")
    shop.git("mv", "old/wiki.yaml", "new/wiki.yaml")
    plan = planned_changes(shop)
    verdicts = {app.title: app.verdict for app in plan.apps}
    assert verdicts == {"old": Verdict.DELETE, "new": Verdict.PASS}
    (old,) = [app for app in plan.apps if app.title == "old"]
    assert old.safety is not None
    assert (
        "and all that it deployed, unless new, which declares it too, is synced first"
        in old.safety.reasons[0].text
    )


def test_a_root_whose_child_leaves_passes_as_the_child_has_a_plan(tmp_path: Path) -> None:
    plan = root(tmp_path, "{shop: main, wiki: main}", "{shop: main}")
    assert {app.title: app.verdict for app in plan.apps} == {"root": Verdict.PASS, "wiki": Verdict.DELETE}


def test_applications_that_leave_git_are_stated_once(tmp_path: Path) -> None:
    plan = root(tmp_path, "{shop: main, wiki: main}", "{}")
    gone = [
        found for found in statements(plan) if found.text.startswith("the Application is no longer in Git")
    ]
    assert [[app.title for app in found.apps] for found in gone] == [["shop", "wiki"]]


def test_an_app_that_deploys_itself_does_not_start_its_own_syncs(tmp_path: Path) -> None:
    """The commit moves its Application out of its source: Argo CD would delete all that it deployed."""
    own = APP.replace("{prune: true}", "{prune: true, selfHeal: true}").replace(
        "name: shop,", "name: shop, finalizers: [resources-finalizer.argocd.argoproj.io/foreground],"
    )
    own = own.replace("CreateNamespace=true", "CreateNamespace=true, PruneLast=true, Replace=true")
    shop = Shop(tmp_path / "shop")
    shop.git("mv", "argocd/shop.yaml", "apps/shop/app.yaml")
    shop.commit({"apps/shop/app.yaml": own})
    shop.git("branch", "-f", "main")
    shop.git("mv", "apps/shop/app.yaml", "argocd/shop.yaml")
    shop.put("service.yaml", SERVICE.replace("port: 80,", "port: 81,"))
    (app,) = planned_changes(shop).apps
    assert [run.passed for run in app.runs] == [True, True]
    assert app.verdict is Verdict.DELETE


def test_an_app_that_deploys_itself_and_changes_its_revision(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    root = APP.replace("name: shop,", "name: root,").replace("path: apps/shop", "path: argocd")
    shop.git("checkout", "-q", "main")
    shop.commit({"argocd/root.yaml": root})
    shop.git("checkout", "-q", "-B", "feature")
    (shop.folder / "argocd/root.yaml").write_text(
        root.replace("targetRevision: main", "targetRevision: prod")
    )
    (app,) = planned_changes(shop).apps
    assert app.name == "argocd/root"
    assert [(run.cluster, run.passed, run.message) for run in app.runs] == [
        (PlannedCluster.BASE, True, ""),
        (PlannedCluster.EMPTY, True, ""),
    ]


def _roots(folder: str, apps: dict[str, str]) -> dict[str, str]:
    """A root app of a cluster with its children and their project, as files."""
    root = APP.replace("path: apps/shop", f"path: clusters/{folder}").replace("name: shop,", "name: root,")
    children = {
        f"clusters/{folder}/list.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        + "".join(
            f"- {line}" if number == 0 else f"  {line}"
            for body in (
                *(
                    APP.replace("name: shop,", f"name: {name},").replace(
                        "namespace: shop}", f"namespace: {space}}}"
                    )
                    for name, space in apps.items()
                ),
                PROJECT.replace("SPACE", next(iter(apps.values()))),
            )
            for number, line in enumerate(
                body.replace("project: default", "project: own").splitlines(keepends=True)
            )
        )
    }
    return {f"roots/{folder}.yaml": root, **children}


PROJECT = """\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: own, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: SPACE}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
"""


def test_each_root_has_its_own_apps_and_projects(tmp_path: Path) -> None:
    """A root for each cluster, whose apps have the same names."""
    shop = Shop(tmp_path / "shop")
    shop.commit({**_roots("dev", {"a": "dev", "b": "dev"}), **_roots("prod", {"a": "prod", "b": "prod"})})
    shop.git("branch", "-f", "main")
    plan = planned_changes(shop)
    assert plan.apps == ()
    assert sorted(plan.untouched).count("argocd/a") == 2
    shop.commit({"apps/shop/config.yaml": CONFIG.replace("hello", "bye")})
    plan = planned_changes(shop)
    assert {app.title: app.verdict for app in plan.apps if app.name == "argocd/a"} == {
        "a (roots/dev.yaml)": Verdict.PASS,
        "a (roots/prod.yaml)": Verdict.PASS,
    }
    shop.commit(_roots("prod", {"a": "prod"}))
    removed = [app.title for app in planned_changes(shop).apps if app.is_removed]
    assert removed == ["b (roots/prod.yaml)"]


def test_an_app_that_leaves_its_root_is_deleted_although_its_file_remains(tmp_path: Path) -> None:
    """Only the folder that the root deploys changes; the same Application is also in another file."""
    shop = Shop(tmp_path / "shop")
    wiki = APP.replace("name: shop,", "name: wiki,")
    root_app = APP.replace("path: apps/shop", "path: root").replace("name: shop,", "name: root,")
    shop.commit(
        {
            "argocd/shop.yaml": root_app,
            "copies/wiki.yaml": wiki,
            "root/config.yaml": CONFIG,
            "root/wiki.yaml": wiki,
        }
    )
    shop.git("branch", "-f", "main")
    (shop.folder / "root/wiki.yaml").unlink()
    plan = planned_changes(shop)
    assert {app.name: app.is_removed for app in plan.apps} == {"argocd/root": False, "argocd/wiki": True}
    assert (plan.verdict, plan.untouched) == (Verdict.DELETE, ())
