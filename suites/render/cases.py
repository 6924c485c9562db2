"""One case: its Application, its options, and what came out, as text."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from whysync.argocd.repo_server.git import tree_of_folder
from whysync.argocd.repo_server.render import (
    CannotRender,
    RenderedSource,
    RenderOptions,
    RenderProblem,
    render,
)
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api import yaml

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def read(path: Path) -> Object:
    return fields(yaml.load(path.read_bytes())) if path.exists() else {}


def app_of(case: Path) -> Object:
    return read(case / "app.yaml")


def options_of(case: Path, options: RenderOptions) -> RenderOptions:
    snapshot = read(case / "options.yaml")
    versions = [text(kustomize_version) for kustomize_version in items(snapshot.get("kustomizeVersions"))]
    return replace(
        options,
        kube_version=text(snapshot.get("kubeVersion")),
        api_versions=tuple(text(api_version) for api_version in items(snapshot.get("apiVersions"))),
        knows_settings=True,
        kustomize_build_options=text(snapshot.get("buildOptions")),
        kustomize_versions=frozenset(versions) if versions else None,
    )


def rendered(case: Path, options: RenderOptions) -> RenderedSource:
    app = app_of(case)
    with tree_of_folder(case / "repo") as tree:
        source = fields(dig(app, "spec", "source"))
        return render(app, source, tree, commit=COMMIT, options=options_of(case, options))


def outcome(case: Path, options: RenderOptions) -> tuple[str, str]:
    """The name of the golden, and its text."""
    try:
        made = rendered(case, options)
    except RenderProblem as problem:
        return "problem.txt", f"{problem.code}\n{problem.text}\n"
    except CannotRender as problem:
        # Why differs between machines: where git is, and how a network is missing.
        return "problem.txt", f"cannot: {problem.what}\nnext: {problem.next}\n"
    parts = [f"# {made.source_type}\n"]
    for obj in made.objects:
        by = f" ({obj.origin.made_by})" if obj.origin.made_by else ""
        parts.append(f"---\n# from {obj.origin}{by}\n{yaml.dump(obj.body)}")
    return "expected.yaml", "".join(parts)
