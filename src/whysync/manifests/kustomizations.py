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
_GENERATORS = ("helmCharts", "helmChartInflationGenerator", "generators")


class Kustomization:
    """`folder` contains it; `resources` and `patches` are paths like those of files."""

    def __init__(self, folder: str, body: Object, path: str) -> None:
        self.folder = folder
        self.body = body
        self.path = path
        self.resources: list[str] = []
        self.patches: set[str] = set()
        self.targeted: set[str] = set()
        """Patches with a `target`: their own kind and name have no meaning."""
        self.generated: set[tuple[str, str]] = set()
        self.is_open = any(body.get(key) for key in _GENERATORS)
        """Does it use anything that is not in the files, such as charts or other repositories?"""
        for key in ("resources", "bases", "components", "crds"):
            for entry in items(body.get(key)):
                self._resource(text(entry))
        for key in _PATCHES:
            self.patches.update(self._paths_in(body.get(key)))
        with_target = [
            patch
            for key in ("patches", "patchesJson6902")
            for patch in items(body.get(key))
            if fields(fields(patch).get("target"))
        ]
        self.targeted.update(self._paths_in([*with_target]))
        for key, kind in _GENERATED.items():
            for entry in items(body.get(key)):
                self.generated.add((kind, text(fields(entry).get("name"))))
        self.images = {text(fields(image).get("name")) for image in items(body.get("images"))}

    def _resource(self, name: str) -> None:
        if "://" in name or name.startswith(("github.com/", "git@")) or "?ref=" in name:
            self.is_open = True
        elif name:
            self.resources.append(self._path(name))

    def _path(self, name: str) -> str:
        return (
            posixpath.normpath(posixpath.join(self.folder, name)) if self.folder else posixpath.normpath(name)
        )

    def _paths_in(self, patches: Json) -> Iterator[str]:
        for patch in items(patches):
            if isinstance(patch, str):
                if "\n" not in patch:
                    yield self._path(patch)
            elif isinstance(patch, dict):
                for key in ("path", "patch"):
                    name = text(patch.get(key))
                    if name and "\n" not in name:
                        yield self._path(name)
