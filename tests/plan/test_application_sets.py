"""ApplicationSets that Git alone can expand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.shop import CONFIG, Shop
from tests.plan.test_plan import planned_changes
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.api import yaml
from whysync.plan.application_sets import NotExpanded, expanded
from whysync.plan.plan import ChangeKind, Verdict

URL = "https://git.example.org/team/shop.git"


def a_set(*generators: Json, name: str, path: str = "x", go: bool = False) -> Object:
    spec: Object = {"source": {"repoURL": URL, "path": path}, "destination": {"namespace": "n"}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "set", "namespace": "argocd"},
        "spec": {
            "goTemplate": go,
            "generators": [*generators],
            "template": {"metadata": {"name": name}, "spec": spec},
        },
    }


def names(body: Object, root: Path) -> list[tuple[object, object]]:
    return [
        (dig(generated, "metadata", "name"), dig(generated, "spec", "source", "path"))
        for generated in expanded(body, root, lambda source: source.get("repoURL") == URL)
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in (
        "apps/Blog_1/a.yaml",
        "apps/shop/a.yaml",
        "apps/shop/deep/b.yaml",
        ".git/x/y",
        "apps/old/a.yaml",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("a: {b: 1}\n")
    (tmp_path / "env/eu").mkdir(parents=True)
    (tmp_path / "env/eu/config.json").write_text('{"cluster": {"name": "eu-1"}}')
    (tmp_path / "env/us.json").write_text('[{"cluster": {"name": "us-1"}}, {"cluster": {"name": "us-2"}}]')
    return tmp_path


FOLDERS: Json = {
    "git": {"repoURL": URL, "directories": [{"path": "apps/*"}, {"path": "apps/old", "exclude": True}]}
}
LIST: Json = {"list": {"elements": [{"env": "dev", "n": 1}, {"env": "prod", "n": 2}]}}


def test_list(root: Path) -> None:
    assert names(a_set(LIST, name="shop-{{env}}", path="e/{{ n }}"), root) == [
        ("shop-dev", "e/1"),
        ("shop-prod", "e/2"),
    ]


def test_directories(root: Path) -> None:
    plain = a_set(FOLDERS, name="{{path.basenameNormalized}}", path="{{path}}")
    assert names(plain, root) == [("blog-1", "apps/Blog_1"), ("shop", "apps/shop")]
    go = a_set(FOLDERS, name="{{index .path.segments 1 | normalize}}", path="{{.path.path}}", go=True)
    assert names(go, root) == names(plain, root)


def test_files(root: Path) -> None:
    files: Json = {"git": {"repoURL": URL, "files": [{"path": "env/**/*.json"}]}}
    assert names(a_set(files, name="{{cluster.name}}", path="{{path}}"), root) == [
        ("eu-1", "env/eu"),
        ("us-1", "env"),
        ("us-2", "env"),
    ]
    go = a_set(files, name="{{ .cluster.name }}", path="{{.path.basename}}", go=True)
    assert [name for name, _ in names(go, root)] == ["eu-1", "us-1", "us-2"]


def test_matrix_and_merge(root: Path) -> None:
    matrix: Json = {"matrix": {"generators": [FOLDERS, LIST]}}
    assert [name for name, _ in names(a_set(matrix, name="{{path.basenameNormalized}}-{{env}}"), root)] == [
        "blog-1-dev",
        "blog-1-prod",
        "shop-dev",
        "shop-prod",
    ]
    over: Json = {"list": {"elements": [{"env": "prod", "n": 9}, {"env": "else", "n": 7}]}}
    merge: Json = {"merge": {"mergeKeys": ["env"], "generators": [LIST, over]}}
    assert [name for name, _ in names(a_set(merge, name="{{env}}-{{n}}"), root)] == ["dev-1", "prod-9"]


@pytest.mark.parametrize(
    ("generator", "name"),
    [
        ({"clusters": {}}, "x"),
        ({"git": {"repoURL": "https://elsewhere", "directories": [{"path": "*"}]}}, "x"),
        (LIST, "{{nobody}}"),
        ({"matrix": {"generators": [LIST]}}, "x"),
        ("nonsense", "x"),
    ],
)
def test_what_is_left_alone(root: Path, generator: Json, name: str) -> None:
    with pytest.raises(NotExpanded):
        names(a_set(generator, name=name), root)


def test_functions_of_templates_are_left_alone(root: Path) -> None:
    with pytest.raises(NotExpanded):
        names(a_set(LIST, name='{{ printf "%s" .env }}', go=True), root)


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
