"""Plans of Applications that ApplicationSets generate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.argocd.application_sets.test_expand import a_set
from tests.plan.shop import CONFIG, Shop
from tests.plan.test_plan import planned_changes
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api import yaml
from whysync.plan.plan import AppPlan, ChangeKind, Verdict
from whysync.plan.source_lines import SourceLines

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


PLUGIN: Json = {"plugin": {"configMapRef": {"name": "p"}}}


def _named(body: Object, name: str) -> Object:
    return {**body, "metadata": {"name": name, "namespace": "argocd"}}


def _sets(*bodies: Object) -> str:
    return "---\n".join(map(yaml.dump, bodies))


def test_a_set_that_is_not_expanded_hides_only_its_own_apps(tmp_path: Path) -> None:
    """Several ApplicationSets are in one file."""
    both: Json = {"list": {"elements": [{"n": "shop"}, {"n": "wiki"}]}}
    one: Json = {"list": {"elements": [{"n": "shop"}]}}
    unclear = _named(a_set(PLUGIN, name="{{n}}"), "unclear")
    shop = Shop(tmp_path / "shop")
    expanded = a_set(both, name="{{n}}", path="apps/shop")
    shop.commit({"argocd/sets.yaml": _sets(unclear, expanded), "argocd/shop.yaml": ""})
    shop.git("branch", "-f", "main")
    shop.commit({"argocd/sets.yaml": _sets(unclear, a_set(one, name="{{n}}", path="apps/shop"))})
    plan = planned_changes(shop)
    assert {app.name: app.is_removed for app in plan.apps} == {"argocd/wiki": True}
    assert plan.verdict is Verdict.DELETE
    assert plan.not_planned[0].startswith("ApplicationSet unclear in argocd/sets.yaml is not expanded: ")
    (wiki,) = plan.apps
    assert wiki.safety is not None
    assert wiki.safety.reasons[0].text.startswith("its ApplicationSet no longer generates the Application")
    # Nothing is said about apps of a set that cannot be expanded any longer.
    shop.commit({"argocd/sets.yaml": _sets(unclear, a_set(PLUGIN, name="{{n}}", path="apps/shop"))})
    assert planned_changes(shop).apps == ()


@pytest.mark.parametrize("policy", ["sync", "create-delete", "create-only", "create-update"])
def test_a_set_may_keep_what_it_no_longer_generates(tmp_path: Path, policy: str) -> None:
    generator: Json = {"git": {"repoURL": URL, "directories": [{"path": "apps/*"}]}}
    body = a_set(
        generator, name="{{path.basename}}", path="{{path}}", syncPolicy={"applicationsSync": policy}
    )
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": yaml.dump(body), "apps/wiki/a.yaml": CONFIG})
    shop.git("branch", "-f", "main")
    (shop.folder / "apps/wiki/a.yaml").unlink()
    assert planned_changes(shop).verdict is (
        Verdict.DELETE if policy in ("sync", "create-delete") else Verdict.PASS
    )
    (shop.folder / "argocd/shop.yaml").unlink()  # the set owns its Applications
    removed = {app.name for app in planned_changes(shop).apps if app.is_removed}
    assert removed == {"argocd/shop", "argocd/wiki"}


def test_a_rendered_set_that_is_no_longer_expanded_removes_nothing(tmp_path: Path) -> None:
    root: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "root"}}
    spec = fields(fields(fields(a_set(name="x")["spec"])["template"])["spec"])
    application: Object = {**root, "spec": {**spec, "source": {"repoURL": URL, "path": "sets"}}}
    generator: Json = {"list": {"elements": [{"n": "wiki"}]}}
    shop = Shop(tmp_path / "shop")

    def rendered(generator: Json) -> str:
        body = a_set(generator, name="{{n}}", path="apps/shop")
        return yaml.dump({"apiVersion": "v1", "kind": "List", "items": [body]})

    shop.commit({"argocd/root.yaml": yaml.dump(application), "sets/list.yaml": rendered(generator)})
    shop.git("branch", "-f", "main")
    shop.commit({"sets/list.yaml": rendered(PLUGIN)})
    plan = planned_changes(shop)
    assert [app.name for app in plan.apps if app.is_removed] == []
    assert plan.verdict is Verdict.UNKNOWN


def test_a_cause_has_the_line_of_the_template(tmp_path: Path) -> None:
    text = _sets(_named(a_set(PLUGIN, name="{{n}}"), "first"), a_set(name="{{n}}", path="apps/missing"))
    (tmp_path / "sets.yaml").write_text(text)
    app = AppPlan(name="argocd/x", file="sets.yaml", application_set="set")
    found = [SourceLines(tmp_path).of_application(app, pointer) for pointer in ("", "/spec/source/path")]
    lines = [text.splitlines()[location.line - 1] for location in found if location is not None]
    assert lines == ["apiVersion: argoproj.io/v1alpha1", "        path: apps/missing"]
    assert found[0] is not None
    assert found[0].line > 1
