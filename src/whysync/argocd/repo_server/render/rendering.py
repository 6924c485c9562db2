"""Renders a source of an Application, as the repo-server does.

Mirrors `GenerateManifests`, Argo CD 3.6; differs: without tracking metadata, which the caller adds.
Differences of the tools are documented in their modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from whysync.argocd.repo_server.git.tree import Tree, missing_in_words
from whysync.argocd.repo_server.render.cache import Cache, content_key
from whysync.argocd.repo_server.render.detect import source_type, with_overrides, without_zero_values
from whysync.argocd.repo_server.render.directory import render_directory
from whysync.argocd.repo_server.render.environment import build_environment
from whysync.argocd.repo_server.render.helm import render_helm
from whysync.argocd.repo_server.render.kustomize import render_kustomize
from whysync.argocd.repo_server.render.options import (
    CannotRender,
    RenderedObject,
    RenderOptions,
    RenderProblem,
)
from whysync.argocd.repo_server.render.paths import app_folder, check_links
from whysync.argocd.repo_server.render.values_files import check_refs
from whysync.golang.fmt import go_type
from whysync.json_tree import Object, dig, fields, items, text

_DEFAULT_OPTIONS = RenderOptions()
_TEXTS: Final = (
    ".yaml",
    ".yml",
    ".json",
    ".tpl",
    ".txt",
    ".tgz",
    ".env",
    ".properties",
    "sonnet",
    "ustomization",
)
"""Endings of files from which manifests are rendered."""


class RenderedSource(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests of one source in the order of the tool, with unmasked Secrets."""

    objects: tuple[RenderedObject, ...]
    source_type: str
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.objects)} objects rendered by {self.source_type}>"


def render(
    app: Object, source: Object, tree: Tree, *, commit: str, options: RenderOptions = _DEFAULT_OPTIONS
) -> RenderedSource:
    """Renders one source of an Application from the files of a commit.

    Raises `RenderProblem` with the repo-server's message if Argo CD fails too, and `CannotRender` if only
    this machine does.
    """
    chart = text(source.get("chart"))
    check_links(tree, tree_kind="chart" if chart else "repository")
    folder = tree.root if chart else app_folder(tree, text(source.get("path")))
    _check_refs(app, source, options)
    env = environment_of(app, source, commit, options)
    source = with_overrides(without_zero_values(source), folder, tree.root, env["ARGOCD_APP_NAME"])
    kind = source_type(source, folder, options.disabled_tools)
    _check_missing(kind, folder, tree)
    cache = Cache(options.cache) if options.cache is not None and not options.network else None
    key = content_key(kind, source, folder, tree, env, options) if cache is not None else ""
    objects = cache.get(key) if cache is not None else None
    if objects is None:
        try:
            objects = tuple(expand_lists(_rendered_objects(kind, app, source, folder, tree, env, options)))
        except RenderProblem as problem:
            missing = [path for path in tree.missing if _may_be_needed(path, problem)]
            if missing:  # such as a base in another folder, which Argo CD has
                raise _missing_files(missing, f"it cannot be rendered: {problem.text}") from problem
            raise
        if cache is not None:
            cache.put(key, objects)
    return RenderedSource(objects=objects, source_type=kind, warnings=tree.warnings)


def _rendered_objects(
    kind: str,
    app: Object,
    source: Object,
    folder: Path,
    tree: Tree,
    env: Mapping[str, str],
    options: RenderOptions,
) -> Iterator[RenderedObject]:
    match kind:
        case "Helm":
            namespace = text(dig(app, "spec", "destination", "namespace"))
            return render_helm(source, folder, tree, env, options, namespace)
        case "Kustomize":
            return render_kustomize(source, folder, tree, env, options)
        case "Plugin":
            name = text(dig(source, "plugin", "name"))
            raise CannotRender(
                what=f"this source is rendered by the plugin {name!r}"
                if name
                else "a plugin renders this source",
                why="plugins are programs next to Argo CD's repo-server, and whysync does not have them",
                next="render it where the plugin is, and give whysync the manifests as a bundle",
                part=f"plugin {name}" if name else "its plugin",
                shared="plugins of Argo CD's repo-server are not run",
            )
        case _:
            return render_directory(source, folder, tree, env, options)


def _check_missing(kind: str, folder: Path, tree: Tree) -> None:
    inside = "" if folder == tree.root else f"{folder.relative_to(tree.root)}/"
    endings = (".yaml", ".yml", ".json", "sonnet", "ustomization") if kind == "Directory" else ("",)
    missing = [path for path in tree.missing if path.startswith(inside) and path.endswith(endings)]
    if missing:
        raise _missing_files(missing)


def _may_be_needed(path: str, problem: RenderProblem) -> bool:
    """May a file whose content is missing be the reason of this problem? A document or an image is not."""
    return path.endswith(_TEXTS) or PurePosixPath(path).name in problem.text


def _missing_files(paths: Sequence[str], why: str = "") -> CannotRender:
    return CannotRender(what=missing_in_words(paths), why=why)


def _check_refs(app: Object, source: Object, options: RenderOptions) -> None:
    helm = fields(source.get("helm"))
    files = [text(value_file) for value_file in items(helm.get("valueFiles"))]
    files += [
        text(fields(file_parameter).get("path")) for file_parameter in items(helm.get("fileParameters"))
    ]
    check_refs(files, options.refs, has_multiple_sources=has_several_sources(app))


def has_several_sources(app: Object) -> bool:
    spec = fields(app.get("spec"))
    return spec.get("sourceHydrator") is None and bool(items(spec.get("sources")))


def environment_of(app: Object, source: Object, commit: str, options: RenderOptions) -> dict[str, str]:
    spec = fields(app.get("spec"))
    return build_environment(
        app_name=options.instance or text(dig(app, "metadata", "name")),
        namespace=text(dig(spec, "destination", "namespace")),
        project=text(spec.get("project")) or "default",
        commit=commit,
        repo=text(source.get("repoURL")),
        path=text(source.get("path")),
        target_revision=text(source.get("targetRevision")),
    )


__all__ = ["RenderProblem", "RenderedSource", "has_several_sources", "render"]


def expand_lists(rendered: Iterable[RenderedObject]) -> Iterator[RenderedObject]:
    """Replaces Lists by their items; a List in a List stays.

    Mirrors the end of `GenerateManifests` and apimachinery `IsList`, Argo CD 3.6: anything with a list of
    `items` is a List, whatever its kind.
    """
    for obj in rendered:
        list_items = obj.body.get("items")
        if isinstance(list_items, list):
            for item in list_items:
                if not isinstance(item, dict):
                    raise RenderProblem(f"items member is not an object: {go_type(item)}")
                yield RenderedObject(body=item, origin=obj.origin)
        elif (
            "items" in obj.body and list_items is None and "spec" not in obj.body and "status" not in obj.body
        ):
            continue  # an empty list as `kubectl get` prints it
        else:
            yield obj
