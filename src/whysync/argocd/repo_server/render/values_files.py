"""The values files of a Helm source: expands patterns and `$ref` paths, and skips missing files.

Mirrors `getResolvedValueFiles` and `getResolvedRefValueFile`, Argo CD 3.6.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import RefSource, RenderOptions, RenderProblem
from whysync.argocd.repo_server.render.paths import resolved_file
from whysync.golang.glob import BadPattern, name_matcher

_MAX_ENTRIES: Final = 10_000


class _Resolved(msgspec.Struct, frozen=True):
    path: str
    is_url: bool
    root: Path


class ValuesFiles(msgspec.Struct, frozen=True):
    """`folder` is the app's folder, `root` the root of its repository; both are real paths."""

    folder: Path
    root: Path
    env: Mapping[str, str]
    options: RenderOptions

    def all(self, files: Sequence[str], *, ignore_missing: bool) -> list[str]:
        """Full paths and URLs in the order in which Helm reads them."""
        explicit = self._explicit_paths(files)
        paths: dict[str, None] = {}
        for file in files:
            try:
                resolved = self._resolved(file)
            except RenderProblem as problem:
                raise RenderProblem(f"error resolving value file path: {problem.text}") from None
            if not resolved.is_url and _is_pattern(resolved.path):
                for match in self._matches(file, resolved, ignore_missing=ignore_missing):
                    if match not in explicit:  # an explicit entry determines its position
                        paths[match] = None
            elif resolved.is_url or not ignore_missing or os.path.exists(resolved.path):
                paths[resolved.path] = None
        return list(paths)

    def file_parameter(self, file: str) -> str:
        """The file of a file parameter."""
        is_ref = _ref_of(file, self.options.refs) is not None
        try:
            return self._resolved(file).path
        except RenderProblem as problem:
            kind = "set-file path" if is_ref else "helm value file path"
            raise RenderProblem(f"error resolving {kind}: {problem.text}") from None

    def _explicit_paths(self, files: Sequence[str]) -> set[str]:
        paths: set[str] = set()
        for file in files:
            try:
                path = self._resolved(file).path
            except RenderProblem:
                continue  # reported by `all`
            if not _is_pattern(path):
                paths.add(path)
        return paths

    def _resolved(self, file: str) -> _Resolved:
        schemes = self.options.value_schemes
        ref = _ref_of(file, self.options.refs)
        if ref is None:
            path, is_url = resolved_file(self.folder, self.root, substituted(file, self.env), schemes)
            return _Resolved(path, is_url, self.root)
        if ref.tree is None:
            raise RenderProblem(f'failed to find repo "{ref.repo}"')
        # `$ref` is not an environment variable, so only the rest is substituted.
        ref_path = substituted("/" + file.partition("/")[2], self.env)
        try:
            path, _ = resolved_file(ref.tree.root, ref.tree.root, ref_path, schemes)
        except RenderProblem as problem:
            raise RenderProblem(f"error resolving value file path: {problem.text}") from None
        return _Resolved(path, False, ref.tree.root)

    def _matches(self, file: str, resolved: _Resolved, *, ignore_missing: bool) -> list[str]:
        try:
            matches = expanded(resolved.path, resolved.root)
        except BadPattern as problem:
            raise RenderProblem(f'error expanding glob pattern "{file}": {problem}') from None
        if not matches and not ignore_missing:
            raise RenderProblem(f'values file glob "{file}" matched no files')
        for match in matches:
            real = os.path.realpath(match)
            if real != str(resolved.root) and not real.startswith(f"{resolved.root}/"):
                raise RenderProblem(
                    f'glob pattern "{file}": glob match "{match}" resolved to outside repository root'
                )
        return matches


def _ref_of(file: str, refs: Mapping[str, RefSource]) -> RefSource | None:
    return refs.get(file.partition("/")[0]) if file.startswith("$") else None


def check_refs(files: Sequence[str], refs: Mapping[str, RefSource], *, has_multiple_sources: bool) -> None:
    """Mirrors the checks of `resolveReferencedSources`, Argo CD 3.6: refs need several sources."""
    if not has_multiple_sources:
        return
    for file in files:
        if not file.startswith("$"):
            continue
        name = file.partition("/")[0]
        ref = refs.get(name)
        if ref is None and not refs:
            raise RenderProblem(f"source referenced \"{name}\", but no source has a 'ref' field defined")
        if ref is None:
            raise RenderProblem(
                f'source referenced "{name}", which is not one of the available sources '
                f"({', '.join(sorted(refs))})"
            )
        if ref.chart:
            raise RenderProblem(
                "source has a 'chart' field defined, but Helm charts are not yet not supported "
                "for 'ref' sources"
            )


def _is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def expanded(pattern: str, root: Path) -> list[str]:
    """The sorted files and folders below `root` that match a full path with patterns (doublestar).

    Raises `BadPattern`.
    """
    prefix = f"{root}/"
    if not pattern.startswith(prefix):
        return []
    patterns = pattern.removeprefix(prefix).split("/")
    return sorted(str(path) for path in _walk(root, patterns, 0))


def _walk(folder: Path, patterns: list[str], depth: int) -> Iterator[Path]:
    if depth > 200:
        return
    pattern, remaining = patterns[0], patterns[1:]
    if pattern == "**":
        if not remaining:
            yield folder
        else:
            yield from _walk(folder, remaining, depth + 1)
        for entry in _entries(folder):
            if entry.is_dir() and not entry.is_symlink():
                yield from _walk(Path(entry.path), patterns, depth + 1)
            elif not remaining:
                yield Path(entry.path)
        return
    if not _is_pattern(pattern) and "{" not in pattern:
        path = folder / pattern
        if not remaining:
            if os.path.lexists(path):
                yield path
        elif path.is_dir():
            yield from _walk(path, remaining, depth + 1)
        return
    matches = name_matcher(pattern)
    for entry in _entries(folder):
        if matches(entry.name):
            if not remaining:
                yield Path(entry.path)
            elif entry.is_dir():
                yield from _walk(Path(entry.path), remaining, depth + 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)[:_MAX_ENTRIES]
    except OSError:
        return []
