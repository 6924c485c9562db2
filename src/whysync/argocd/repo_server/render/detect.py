"""Detects the tool that renders a source, and applies `.argocd-source.yaml` overrides.

Mirrors `GetAppSourceType`, `mergeSourceParameters` and `discovery.AppType`, Argo CD 3.6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.render.options import CACHED_SOURCE, RenderProblem
from whysync.json_tree import Json, Object, copy_object
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_TYPES: Final = (
    ("kustomize", "Kustomize"),
    ("helm", "Helm"),
    ("directory", "Directory"),
    ("plugin", "Plugin"),
)
_LOCATION_FIELDS: Final = ("chart", "path", "repoURL", "targetRevision")
_MAX_OVERRIDE_BYTES: Final = 1 << 20


def with_overrides(source: Object, folder: Path, root: Path, app_name: str) -> Object:
    """The source with `.argocd-source.yaml` and `.argocd-source-<app>.yaml` merged into it."""
    merged = source
    names = [".argocd-source.yaml"]
    if app_name and "/" not in app_name and "\x00" not in app_name:
        names.append(f".argocd-source-{app_name}.yaml")
    for name in names:
        file = folder / name
        if not file.is_file():
            continue
        shown = f"{CACHED_SOURCE}/{file.relative_to(root)}"
        patch = _patch(file, shown)
        if patch is not None:
            merged = _merged(merged, patch)
    if merged is source:
        return source
    # Overrides can change parameters of the tools, but not the location of the source.
    parameters = {key: value for key, value in merged.items() if key not in _LOCATION_FIELDS}
    return {**parameters, **{key: source[key] for key in _LOCATION_FIELDS if key in source}}


def _patch(file: Path, shown: str) -> Object | None:
    if file.stat().st_size > _MAX_OVERRIDE_BYTES:
        raise RenderProblem(f"error getting app source type: {shown}: file too large")
    for document in yaml.documents(file.read_bytes()):
        if isinstance(document, Broken):
            raise RenderProblem(
                f"error getting app source type: error while parsing source parameters: {shown}: "
                f"yaml: line {document.line}: {document.problem}"
            )
        if not isinstance(document.body, dict):
            raise RenderProblem(
                f"error getting app source type: error while parsing source parameters: {shown}: "
                "Invalid JSON Patch"
            )
        return document.body
    return None


def _merged(body: Object, patch: Object) -> Object:
    """A JSON merge patch (RFC 7396)."""
    after = copy_object(body)
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            before: Json = after.get(key)
            after[key] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            after[key] = value
    return after


def without_zero_values(source: Object) -> Object:
    """The source without empty parameters of a tool, such as `directory: {recurse: false}`.

    The controller removes them before it compares an app, so they do not choose the tool. Mirrors
    `NormalizeSource`, Argo CD 3.6.
    """
    return {
        key: value
        for key, value in source.items()
        if key not in ("kustomize", "helm", "directory") or not _is_zero(value)
    }


def _is_zero(value: Json) -> bool:
    if isinstance(value, dict):
        return all(map(_is_zero, value.values()))
    return not value


def source_type(source: Object, folder: Path, disabled: frozenset[str]) -> str:
    """`Helm`, `Kustomize`, `Directory` or `Plugin`."""
    declared = [kind for key, kind in _TYPES if source.get(key) is not None]
    if len(declared) > 1:
        raise RenderProblem(
            f"error getting app source type: multiple application sources defined: {','.join(declared)}"
        )
    if declared:
        return "Directory" if declared[0] in disabled else declared[0]
    return detected_type(folder, disabled)


def detected_type(folder: Path, disabled: frozenset[str] = frozenset()) -> str:
    """The source type by the files of the folder; a kustomization takes precedence."""
    source_type = "Directory"
    for file in sorted(folder.iterdir()):
        if file.is_dir() and not file.is_symlink():
            continue
        if file.name.endswith("Chart.yaml") and "Helm" not in disabled:
            source_type = "Helm"
        if file.name in KUSTOMIZATIONS and "Kustomize" not in disabled:
            source_type = "Kustomize"
    return source_type
