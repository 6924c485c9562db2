"""A taste of what `suites/render` does at length, where Helm and Kustomize happen to be installed."""

from __future__ import annotations

from tests.argocd.repo_server.render.conftest import MakeTree, config_map, names, rendered, tools_or_skip


def test_a_chart(tree_of: MakeTree) -> None:
    options = tools_or_skip()
    tree = tree_of(
        {
            "app/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
            "app/templates/a.yaml": config_map("{{ .Release.Name }}-{{ .Values.suffix }}"),
        }
    )
    result = rendered(tree, options=options, helm={"valuesObject": {"suffix": "x"}})
    assert (result.source_type, names(result)) == ("Helm", ["shop-x"])
    assert str(result.objects[0].origin) == "app/templates/a.yaml"


def test_an_overlay_is_left_as_it_was(tree_of: MakeTree) -> None:
    options = tools_or_skip()
    kustomization = "# a comment\nresources: [../base]\n"
    tree = tree_of(
        {
            "app/kustomization.yaml": kustomization,
            "base/kustomization.yaml": "resources: [a.yaml]\n",
            "base/a.yaml": config_map("a"),
        }
    )
    result = rendered(tree, options=options, kustomize={"namePrefix": "p-"})
    assert (result.source_type, names(result)) == ("Kustomize", ["p-a"])
    assert result.objects[0].body["metadata"] == {"name": "p-a"}
    assert (result.objects[0].origin.path, result.objects[0].origin.made_by) == ("base/a.yaml", "overlay")
    assert (tree.root / "app/kustomization.yaml").read_text() == kustomization
