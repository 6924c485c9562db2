"""Plans of Applications that ApplicationSets generate."""

from __future__ import annotations

from pathlib import Path

from tests.argocd.application_sets.test_expand import a_set
from tests.plan.shop import CONFIG, Shop
from tests.plan.test_plan import planned_changes
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api import yaml
from whysync.plan.plan import ChangeKind, Verdict

URL = "https://git.example.org/team/shop.git"


def test_apps_of_a_set_are_planned(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit(
        {
            "argocd/shop.yaml": f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: all, namespace: argocd}}
spec:
  generators: [{{git: {{repoURL: "{URL}", directories: [{{path: "apps/*"}}]}}}}]
  template:
    metadata: {{name: "{{{{path.basename}}}}"}}
    spec:
      project: default
      source: {{repoURL: "{URL}", path: "{{{{path}}}}", targetRevision: main}}
      destination: {{server: "https://kubernetes.default.svc", namespace: "{{{{path.basename}}}}"}}
      syncPolicy: {{automated: {{prune: true}}, syncOptions: [CreateNamespace=true]}}
"""
        }
    )
    shop.git("branch", "-f", "main")
    shop.commit({"apps/blog/a.yaml": CONFIG})
    plan = planned_changes(shop)
    assert [app.name for app in plan.apps] == ["argocd/blog"]
    assert plan.untouched == ("argocd/shop",)
    assert plan.verdict is Verdict.PASS


def test_an_app_that_leaves_a_set_takes_its_objects_along(tmp_path: Path) -> None:
    """Argo CD gives such apps its finalizer, unless the set keeps their objects."""
    generator: Json = {"git": {"repoURL": URL, "directories": [{"path": "apps/*"}]}}
    for keeps, expected in ((False, ChangeKind.PRUNE), (True, ChangeKind.KEEP)):
        shop = Shop(tmp_path / f"shop-{keeps}")
        body = a_set(generator, name="{{path.basename}}", path="{{path}}")
        fields(body["spec"])["syncPolicy"] = {"preserveResourcesOnDeletion": keeps}
        shop.commit({"argocd/shop.yaml": yaml.dump(body), "apps/wiki/a.yaml": CONFIG})
        shop.git("branch", "-f", "main")
        (shop.folder / "apps/wiki/a.yaml").unlink()
        plan = planned_changes(shop)
        (wiki,) = [app for app in plan.apps if app.name == "argocd/wiki"]
        assert (wiki.is_removed, wiki.verdict, plan.verdict) == (True, Verdict.DELETE, Verdict.DELETE)
        assert [change.sort for change in wiki.changes] == [expected]


CLUSTER_SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: eu, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}}
stringData: {name: eu, server: "https://eu.example.com"}
"""


def test_clusters_come_from_secrets_in_the_repository(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    body = a_set(
        {"clusters": {"selector": {"matchLabels": {"env": "prod"}}}}, name="shop-{{name}}", path="apps/wiki"
    )
    shop.commit({"argocd/shop.yaml": yaml.dump(body)})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/wiki/a.yaml": CONFIG})
    plan = planned_changes(shop)
    assert plan.verdict is Verdict.UNKNOWN
    assert "--clusters FILE" in plan.not_planned[0]
    shop.commit({"clusters/eu.yaml": CLUSTER_SECRET})
    plan = planned_changes(shop)
    assert [app.name for app in plan.apps] == ["argocd/shop-eu"]
    assert "at the base, its clusters generator" in plan.not_planned[0]


def test_sets_that_another_application_renders(tmp_path: Path) -> None:
    """An app of apps whose chart or kustomization contains the ApplicationSets."""
    shop = Shop(tmp_path / "shop")
    root: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "root"},
    }
    spec = fields(fields(fields(a_set(name="x")["spec"])["template"])["spec"])
    generator: Json = {"git": {"repoURL": URL, "directories": [{"path": "apps/*"}]}}
    the_set = a_set(generator, name="{{path.basename}}-x", path="{{path}}")
    files = {
        "argocd/root.yaml": yaml.dump({**root, "spec": {**spec, "source": {"repoURL": URL, "path": "sets"}}}),
        # The search for ApplicationSets in files does not look into Lists; Argo CD renders their items.
        "sets/list.yaml": yaml.dump({"apiVersion": "v1", "kind": "List", "items": [the_set]}),
        "apps/wiki/a.yaml": CONFIG,
    }
    shop.commit(files)
    shop.git("branch", "-f", "main")
    (shop.folder / "apps/wiki/a.yaml").unlink()
    shop.commit({"apps/blog/a.yaml": CONFIG})
    plan = planned_changes(shop)
    found = {app.name: (app.is_removed, app.verdict) for app in plan.apps}
    assert found == {
        "argocd/blog-x": (False, Verdict.PASS),
        "argocd/wiki-x": (True, Verdict.DELETE),
    }


def test_a_parameter_that_the_generator_does_not_give_is_named(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    body = a_set({"list": {"elements": [{"stage": "dev"}]}}, name="shop-{{.env}}", path="apps/shop")
    fields(body["spec"])["goTemplate"] = True
    shop.commit({"argocd/shop.yaml": yaml.dump(body)})
    (app,) = [app for app in planned_changes(shop).apps if not app.is_removed]
    assert app.verdict is Verdict.UNKNOWN
    assert "a parameter that the generator does not give" in app.unseen[0].why
