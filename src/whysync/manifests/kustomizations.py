"""The resources and patches of a kustomization, read from the file without rendering."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from whysync.json_tree import Json, Object, fields, items, text

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PATCHES = (
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "replacements",
    "transformers",
    "configurations",
)
_GENERATED = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}
_MAKERS = ("helmCharts", "helmChartInflationGenerator", "generators")


class Kustomization:
    """`folder` contains it; `resources` and `patches` are paths like those of files."""

    def __init__(self, folder: str, body: Object, path: str) -> None:
        self.folder = folder
        self.body = body
        self.path = path
        self.resources: list[str] = []
        self.patches: set[str] = set()
        self.generated: set[tuple[str, str]] = set()
        self.is_open = any(body.get(key) for key in _MAKERS)
        """Does it use anything that is not among the files, such as charts or other repositories?"""
        for key in ("resources", "bases", "components", "crds"):
            for one in items(body.get(key)):
                self._resource(text(one))
        for key in _PATCHES:
            self.patches.update(self._paths_in(body.get(key)))
        for key, kind in _GENERATED.items():
            for one in items(body.get(key)):
                self.generated.add((kind, text(fields(one).get("name"))))
        self.images = {text(fields(image).get("name")) for image in items(body.get("images"))}

    def _resource(self, named: str) -> None:
        if "://" in named or named.startswith(("github.com/", "git@")) or "?ref=" in named:
            self.is_open = True
        elif named:
            self.resources.append(self._path(named))

    def _path(self, named: str) -> str:
        return (
            posixpath.normpath(posixpath.join(self.folder, named))
            if self.folder
            else posixpath.normpath(named)
        )

    def _paths_in(self, given: Json) -> Iterator[str]:
        for one in items(given):
            if isinstance(one, str):
                if "\n" not in one:
                    yield self._path(one)
            elif isinstance(one, dict):
                for key in ("path", "patch"):
                    named = text(one.get(key))
                    if named and "\n" not in named:
                        yield self._path(named)
