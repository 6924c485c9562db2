"""Trees from a few lines, and apps that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from whysync.argocd.repo_server.git import Tree, tree_of_folder
from whysync.argocd.repo_server.render import RenderedSource, RenderOptions, render
from whysync.argocd.repo_server.render.tools import helm, kustomize
from whysync.errors import SourceError
from whysync.json_tree import Json, Object

COMMIT = "0123456789abcdef0123456789abcdef01234567"
APP: Object = {
    "metadata": {"name": "shop", "namespace": "argocd"},
    "spec": {"project": "default", "destination": {"namespace": "prod"}},
}
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"


def config_map(name: str) -> str:
    return MANIFEST.format(name=name)


MakeTree = Callable[[Mapping[str, str]], Tree]


@pytest.fixture
def tree_of(tmp_path: Path) -> Iterator[MakeTree]:
    trees: list[Tree] = []

    def make(files: Mapping[str, str]) -> Tree:
        """A tree with these files; the content `-> target` creates a symbolic link."""
        folder = tmp_path / f"tree{len(trees)}"
        for path, content in files.items():
            full = folder / path
            full.parent.mkdir(parents=True, exist_ok=True)
            if content.startswith("-> "):
                full.symlink_to(content.removeprefix("-> "))
            else:
                full.write_text(content)
        folder.mkdir(exist_ok=True)
        trees.append(tree_of_folder(folder))
        return trees[-1]

    yield make
    for tree in trees:
        tree.close()


def rendered(
    tree: Tree, path: str = "app", *, options: RenderOptions | None = None, **source: Json
) -> RenderedSource:
    full_source: Object = {
        "repoURL": "https://example.org/r.git",
        "path": path,
        "targetRevision": "main",
        **source,
    }
    return render(APP, full_source, tree, commit=COMMIT, options=options or RenderOptions())


def names(rendered_source: RenderedSource) -> list[str]:
    result: list[str] = []
    for obj in rendered_source.objects:
        meta = obj.body.get("metadata")
        result.append(str(meta.get("name")) if isinstance(meta, dict) else "")
    return result


def tools_or_skip() -> RenderOptions:
    """For the few tests that need the real tools where they happen to be."""
    try:
        helm()
        kustomize()
    except SourceError as problem:
        pytest.skip(f"{problem.what} ({problem.next})")
    return replace(RenderOptions(), kube_version="1.36.0")
