"""`kustomize.buildOptions` in the files of a repository that also configures Argo CD."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from whysync.argocd.repo_server.git.tree import walk
from whysync.json_tree import Json, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken
from whysync.plan.checkout import Side

# In argocd-cm, its patches and the values of the argo-cd chart; in the ArgoCD resource of the operator.
_KEYS: Final = ("kustomize.buildOptions", "kustomizeBuildOptions")
_MAX_BYTES: Final = 1 << 20


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    value: str
    file: str


def build_options_in(side: Side) -> BuildOptions | None:
    """The options, if all files that set them agree."""
    found: dict[str, BuildOptions] = {}
    for path in walk(side.tree.root):
        if path.suffix not in (".yaml", ".yml") or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
        if not any(key.encode() in data for key in _KEYS):
            continue
        for document in yaml.documents(data):
            if isinstance(document, Broken):
                break  # a template of a chart
            for value in _values(document.body):
                file = str(path.relative_to(side.tree.root))
                found.setdefault(" ".join(value.split()), BuildOptions(value=value, file=file))
    return next(iter(found.values())) if len(found) == 1 else None


def _values(body: Json) -> Iterator[str]:
    if isinstance(body, dict):
        for key, below in body.items():
            if key in _KEYS and text(below):
                yield text(below)
            else:
                yield from _values(below)
    elif isinstance(body, list):
        for item in body:
            yield from _values(item)
