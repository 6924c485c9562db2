"""Cache of rendered sources on disk, by a hash of all inputs.

Results that contain a Secret are never written. When the cache is full, the oldest quarter is deleted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from whysync import __version__
from whysync.argocd.repo_server.git.tree import Tree, walk
from whysync.argocd.repo_server.render.options import Origin, RenderedObject, RenderOptions
from whysync.argocd.repo_server.render.tools import helm, kustomize
from whysync.files import read_file, remove_file, write_file
from whysync.json_tree import Json, Object, fields, items, text

_MAX_ENTRIES: Final = 2000
_MAX_BYTES: Final = 256 << 20
_MAX_ENTRY_BYTES: Final = 16 << 20


class _Stored(msgspec.Struct):
    body: dict[str, object]
    path: str
    line: int
    made_by: str


class Cache:
    def __init__(self, folder: Path) -> None:
        self._folder = folder / "render"

    def get(self, key: str) -> tuple[RenderedObject, ...] | None:
        path = self._folder / key
        try:
            if path.stat().st_size > _MAX_ENTRY_BYTES:
                return None
            stored = msgspec.json.decode(read_file(path), type=list[_Stored])
        except (OSError, msgspec.DecodeError):
            return None
        with suppress(OSError):
            os.utime(path)  # mark as recently used
        return tuple(
            RenderedObject(
                body=_object(entry.body),
                origin=Origin(path=entry.path, line=entry.line, made_by=entry.made_by),
            )
            for entry in stored
        )

    def put(self, key: str, rendered: Iterable[RenderedObject]) -> None:
        rendered = tuple(rendered)
        if any(obj.body.get("kind") == "Secret" for obj in rendered):
            return
        stored = [
            {
                "body": obj.body,
                "path": obj.origin.path,
                "line": obj.origin.line,
                "made_by": obj.origin.made_by,
            }
            for obj in rendered
        ]
        data = msgspec.json.encode(stored)
        if len(data) > _MAX_ENTRY_BYTES:
            return
        with suppress(OSError):  # a cache that cannot be written is ignored
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(self._folder / key, data, mode=0o600, durable=False)
            self._evict()

    def _evict(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [(entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries]
        if len(files) <= _MAX_ENTRIES and sum(size for _, size, _ in files) <= _MAX_BYTES:
            return
        for _, _, path in sorted(files)[: max(len(files) // 4, 1)]:
            with suppress(OSError):
                remove_file(Path(path))


def _object(body: dict[str, object]) -> Object:
    return msgspec.convert(body, dict[str, object])  # pyright: ignore[reportReturnType]  (an Object was stored)


def content_key(
    kind: str, source: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions
) -> str:
    """A hash of all inputs of rendering."""
    source_json = msgspec.json.encode(source, order="deterministic")
    inputs: list[Json] = [
        __version__,
        kind,
        source_json.decode(),
        options.kube_version,
        [*options.api_versions],
        options.kustomize_build_options,
        ",".join(sorted(options.disabled_tools)),
        options.most_manifest_bytes,
        _tools(kind, options),
        # All variables only if the source can refer to them: the commit is one, and always differs.
        dict(env)
        if kind == "Kustomize" or b"$" in source_json
        else {name: env[name] for name in ("ARGOCD_APP_NAME", "ARGOCD_APP_NAMESPACE")},
        str(folder.relative_to(tree.root)),
        tree.identity if _reads_outside(kind, source, folder) else _hash_of(folder),
        {name: ref.tree.identity if ref.tree else "" for name, ref in options.refs.items()},
    ]
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()


def _tools(kind: str, options: RenderOptions) -> str:
    if kind == "Helm":
        return str(helm(options.tools))
    if kind == "Kustomize":
        inflates = "--enable-helm" in options.kustomize_build_options
        return f"{kustomize(options.tools)} {helm(options.tools) if inflates else ''}"
    return ""


def _reads_outside(kind: str, source: Object, folder: Path) -> bool:
    """May rendering read files outside of its folder?"""
    if kind == "Kustomize":
        return True
    settings = fields(source.get("helm"))
    paths = [text(value_file) for value_file in items(settings.get("valueFiles"))]
    paths += [
        text(fields(file_parameter).get("path")) for file_parameter in items(settings.get("fileParameters"))
    ]
    if any(path.startswith(("/", "$")) or ".." in path for path in paths):
        return True
    if any(path.is_symlink() or path.suffix in (".jsonnet", ".libsonnet") for path in walk(folder)):
        return True
    chart = folder / "Chart.yaml"
    return kind == "Helm" and chart.is_file() and b"file:" in chart.read_bytes()


def _hash_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in walk(folder):
        if path.is_file():
            content = path.read_bytes()
            label = os.fsencode(str(path.relative_to(folder)))
            digest.update(b"%d %d\0" % (len(label), len(content)) + label + content)
    return digest.hexdigest()
