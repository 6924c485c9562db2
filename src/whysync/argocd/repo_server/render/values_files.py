"""The values files of a Helm source: patterns expanded, `$ref` paths looked up, missing ones left out.

Mirrors `getResolvedValueFiles` and `getResolvedRefValueFile`, Argo CD 3.6.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import RefSource, RenderOptions
from whysync.argocd.repo_server.render.paths import resolved_file
from whysync.argocd.repo_server.render.problem import RenderProblem
from whysync.golang.glob import BadPattern, name_matcher

_MOST_ENTRIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Resolved:
    path: str
    is_url: bool
    root: Path


@dataclass(frozen=True, slots=True)
class ValuesFiles:
    """`folder` is the app's, `root` that of its repository; both are real paths."""

    folder: Path
    root: Path
    env: Mapping[str, str]
    options: RenderOptions

    def all(self, files: Sequence[str], *, ignore_missing: bool) -> list[str]:
        """Full paths and URLs in the order in which Helm reads them; the last one wins."""
        named = self._named(files)
        paths: dict[str, None] = {}
        for file in files:
            try:
                resolved = self._resolved(file)
            except RenderProblem as problem:
                raise RenderProblem(f"error resolving value file path: {problem.text}") from None
            if not resolved.is_url and _is_pattern(resolved.path):
                for match in self._matches(file, resolved, ignore_missing=ignore_missing):
                    if match not in named:  # it stands where it is named, not where a pattern finds it
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
            what = "set-file path" if is_ref else "helm value file path"
            raise RenderProblem(f"error resolving {what}: {problem.text}") from None

    def _named(self, files: Sequence[str]) -> set[str]:
        named: set[str] = set()
        for file in files:
            try:
                path = self._resolved(file).path
            except RenderProblem:
                continue  # told when its turn comes
            if not _is_pattern(path):
                named.add(path)
        return named

    def _resolved(self, file: str) -> _Resolved:
        schemes = self.options.value_schemes
        ref = _ref_of(file, self.options.refs)
        if ref is None:
            path, is_url = resolved_file(self.folder, self.root, substituted(file, self.env), schemes)
            return _Resolved(path, is_url, self.root)
        if ref.tree is None:
            raise RenderProblem(f'failed to find repo "{ref.repo}"')
        # The variable is the name of a source, so what is behind it is substituted alone.
        rest = substituted("/" + file.partition("/")[2], self.env)
        try:
            path, _ = resolved_file(ref.tree.root, ref.tree.root, rest, schemes)
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


def check_refs(files: Sequence[str], refs: Mapping[str, RefSource], *, several: bool) -> None:
    """Mirrors the checks of `resolveReferencedSources`, Argo CD 3.6: refs need several sources."""
    if not several:
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
    """The files and folders that a full path with patterns names, sorted as doublestar gives them.

    Only below `root`: nothing else is looked at. Raises `BadPattern`.
    """
    prefix = f"{root}/"
    if not pattern.startswith(prefix):
        return []
    parts = pattern.removeprefix(prefix).split("/")
    return sorted(str(path) for path in _walk(root, parts, 0))


def _walk(folder: Path, parts: list[str], seen: int) -> Iterator[Path]:
    if seen > 200:
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        if not rest:
            yield folder
        else:
            yield from _walk(folder, rest, seen + 1)
        for entry in _entries(folder):
            if entry.is_dir() and not entry.is_symlink():
                yield from _walk(Path(entry.path), parts, seen + 1)
            elif not rest:
                yield Path(entry.path)
        return
    if not _is_pattern(part) and "{" not in part:
        path = folder / part
        if not rest:
            if os.path.lexists(path):
                yield path
        elif path.is_dir():
            yield from _walk(path, rest, seen + 1)
        return
    matches = name_matcher(part)
    for entry in _entries(folder):
        if matches(entry.name):
            if not rest:
                yield Path(entry.path)
            elif entry.is_dir():
                yield from _walk(Path(entry.path), rest, seen + 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)[:_MOST_ENTRIES]
    except OSError:
        return []
