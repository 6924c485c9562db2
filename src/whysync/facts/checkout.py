"""A checkout of a Git repository: which file defines an object, and atomic edits of these files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from whysync.errors import NotFound, Refused
from whysync.files import check_editable, is_git_name, is_in_git_folder, read_file, remove_file, write_file
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest_places import ManifestPlace, places_in
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref

_ENDINGS = (".yaml", ".yml", ".json")
_MOST_FILES = 200_000
_LARGEST_FILE = 64 << 20


class Checkout:
    """All paths are relative to `root`, with `/`. Links are never followed, and `.git` is out of bounds."""

    def __init__(self, root: str) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise NotFound(
                what=f"there is no folder {root!r}",
                why="a checkout is a folder with the files of a Git repository",
                next="give the folder in which the repository was cloned",
            )

    # --- reading -----------------------------------------------------------------------------------

    def has_folder(self, path: str) -> bool:
        return self._folder(path) is not None

    def has_file(self, path: str) -> bool:
        full = self._full_path(path)
        return full is not None and full.is_file() and not full.is_symlink()

    def read(self, path: str) -> str:
        full = self._full_path(path)
        if full is None or full.is_symlink() or not full.is_file():
            raise self._outside(path)
        try:
            return read_file(full, follow=False).decode("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise Refused(
                what=f"{path} cannot be read", why=str(problem), next="fix the file, or edit it by hand"
            ) from problem

    def files(self, under: str = "") -> Iterator[str]:
        """The manifests below a folder, sorted by name: regular files only, without `.git` and links."""
        start = self._folder(under)
        if start is None:
            return
        count = 0
        for folder, folders, names in os.walk(start, followlinks=False):
            folders[:] = sorted(name for name in folders if not is_git_name(name))
            for name in sorted(names):
                full = Path(folder, name)
                if not name.endswith(_ENDINGS) or full.is_symlink() or not full.is_file():
                    continue
                count += 1
                if count > _MOST_FILES:
                    raise Refused(
                        what=f"there are more than {_MOST_FILES} manifests in the checkout",
                        next="use the folder of the app as the checkout, or set the file with --file",
                    )
                yield full.relative_to(self.root).as_posix()

    def objects(self, target: Ref, under: str = "") -> list[ManifestPlace]:
        """Where an object of that group, kind and name is declared; the caller checks the namespace."""
        needles = (target.name.encode(), target.kind.encode())
        places: list[ManifestPlace] = []
        for path in self.files(under):
            full = self.root / path
            with suppress(OSError):
                data = read_file(full, follow=False, most=_LARGEST_FILE)
                if all(needle in data for needle in needles):
                    places += [_with_line(p, data) for p in places_in(path, data) if _is(p.ref, target)]
        return places

    # --- writing -----------------------------------------------------------------------------------

    def write(self, path: str, before: str | None, after: str) -> None:
        """Write atomically, and only if the file is unchanged since it was read; a new one must not exist
        yet.
        """
        full = self._full_path(path)
        if full is None or full.is_symlink():
            raise self._outside(path)
        try:
            if before is None:
                full.parent.mkdir(parents=True, exist_ok=True)
            else:
                check_editable(full)
                if self.read(path) != before:
                    raise Refused(what=f"{path} has changed meanwhile", next="run it again")
            write_file(full, after.encode(), must_be_new=before is None)
        except FileExistsError as problem:
            raise Refused(what=f"{path} already exists", next="move it or edit it") from problem
        except OSError as problem:
            raise Refused(
                what=f"{path} cannot be written",
                why=problem.strerror or str(problem),
                next="check the permissions of the folder",
            ) from problem

    def delete(self, path: str, before: str) -> None:
        """Delete a file, only if it is unchanged since it was read."""
        full = self._full_path(path)
        if full is None or full.is_symlink():
            raise self._outside(path)
        try:
            check_editable(full)
            if self.read(path) != before:
                raise Refused(what=f"{path} has changed meanwhile", next="run it again")
            remove_file(full)
        except OSError as problem:
            raise Refused(
                what=f"{path} cannot be deleted",
                why=problem.strerror or str(problem),
                next="check the permissions of the folder",
            ) from problem

    def _folder(self, path: str) -> Path | None:
        full = self._full_path(path)
        return full if full is not None and full.is_dir() and self._contains(full) else None

    def _contains(self, full: Path) -> bool:
        real = full.resolve()
        return real == self.root or self.root in real.parents

    def _full_path(self, path: str) -> Path | None:
        """The full path, if it and all its folders are inside the checkout and outside of `.git`."""
        if "\x00" in path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            return None
        full = self.root / path
        above = full.parent if path not in ("", ".") else full
        return full if self._contains(above) and not is_in_git_folder(full) else None

    def _outside(self, path: str) -> Refused:
        return Refused(
            what=f"{path!r} is not a regular file of the checkout",
            why="whysync follows no links, and writes neither outside of the checkout nor below .git",
            next="edit that file by hand, or give the folder that contains it",
        )


def _with_line(place: ManifestPlace, data: bytes) -> ManifestPlace:
    """Add the line, which is only looked up for reported objects."""
    line = yaml.position(data, join(place.inside), document=place.document)
    return place._replace(line=line or place.line)


def _is(ref: Ref, target: Ref) -> bool:
    return (ref.group, ref.kind, ref.name) == (target.group, target.kind, target.name)
