from __future__ import annotations

from tests.argocd.repo_server.render.conftest import MakeTree, config_map, rendered
from whysync.argocd.repo_server.render import Origin, RenderedObject, located
from whysync.json_tree import Object


def test_an_item_of_a_list_has_its_own_line(tree_of: MakeTree) -> None:
    lines = ["apiVersion: v1", "kind: List", "items:"]
    for name in ("a", "b"):
        lines += ["- apiVersion: v1", "  kind: ConfigMap", "  metadata:", f"    name: {name}"]
    tree = tree_of({"app/list.yaml": "\n".join(lines)})
    found = [str(located(obj, tree.root)) for obj in rendered(tree).objects]
    assert found == ["app/list.yaml:4", "app/list.yaml:8"]


def object_of(name: str, origin: Origin) -> RenderedObject:
    body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x"}}
    return RenderedObject(body=body, origin=origin)


def test_what_an_overlay_renamed_is_found_by_its_old_name(tree_of: MakeTree) -> None:
    tree = tree_of({"base/a.yaml": f"{config_map('web')}---\n{config_map('web-admin')}"})
    origin = Origin(path="base/a.yaml", made_by="overlay")
    assert located(object_of("web", origin), tree.root).line == 1
    assert located(object_of("prod-web-admin-2", origin), tree.root).line == 6
    assert located(object_of("other", origin), tree.root).line == 0


def test_no_line_where_none_can_be_told(tree_of: MakeTree) -> None:
    tree = tree_of({"a/t.yaml": config_map("web"), "broken.yaml": "a: [", "link.yaml": "-> a/t.yaml"})
    for origin in (
        Origin(path="a/t.yaml", made_by="template"),
        Origin(path="nope.yaml", made_by="overlay"),
        Origin(path="broken.yaml"),
        Origin(path="link.yaml"),
        Origin(path="a", made_by="overlay"),
    ):
        assert located(object_of("web", origin), tree.root) == origin
