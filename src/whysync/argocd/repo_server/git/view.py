"""A view of a user's repository: its objects, references and index, with a separate configuration.

The configuration of a repository can name programs: hooks, filters, drivers, a remote that missing objects
are fetched from. Git reads user repositories only through such a view. It is a git directory that links to
the data and has its own `config`, so nothing in the repository's own configuration is in effect. In
particular a view has no promisor remote: an object that a partial clone does not have is just missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

# Keys without effect on what Git runs: upstream branches (`@{upstream}`), file names and storage formats.
_INERT: Final = (
    "branch.*.merge",
    "branch.*.remote",
    "remote.*.fetch",
    "core.ignorecase",
    "core.precomposeunicode",
    "extensions.objectformat",
    "extensions.refstorage",
)
_OF_ALL_WORK_TREES: Final = (
    "objects",
    "refs",
    "packed-refs",
    "reftable",
    "shallow",
    "info/exclude",
    "logs/refs",
)
_OF_ONE_WORK_TREE: Final = ("index", "sharedindex.*", "*_HEAD", "logs/HEAD")

Setting = tuple[str, str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    git_dir: Path
    """Where HEAD and the index of this work tree are."""
    common_dir: Path
    """Where objects, references and the configuration are; differs in a linked work tree."""
    settings: tuple[Setting, ...] = ()
    """The settings in the configuration file of the repository, without included files."""

    def write(self, folder: Path) -> None:
        """Raises `OSError`."""
        head = self.git_dir / "HEAD"
        files = git_dir_files(
            head=head.read_text(errors="surrogateescape") if head.is_file() else "",
            settings=[
                setting for setting in self.settings if any(fnmatchcase(setting[0], key) for key in _INERT)
            ],
        )
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, errors="surrogateescape")
        for base, patterns in ((self.common_dir, _OF_ALL_WORK_TREES), (self.git_dir, _OF_ONE_WORK_TREE)):
            for source in (path for pattern in patterns for path in base.glob(pattern)):
                link = folder / source.relative_to(base)
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(source)


def git_dir_files(*, head: str, settings: Iterable[Setting] = ()) -> dict[str, str]:
    """The files by which Git recognizes a git directory; it also needs the folders `objects` and `refs`."""
    required = [("core.repositoryformatversion", "1"), ("core.bare", "true")]
    return {"HEAD": head, "config": config_text([*required, *settings])}


def config_text(settings: Iterable[Setting]) -> str:
    """Settings as a configuration file of Git."""
    lines: list[str] = []
    for key, value in settings:
        section, _, name_parts = key.partition(".")
        subsection, _, name = name_parts.rpartition(".")
        lines += [
            f"[{section} {_quoted(subsection)}]" if subsection else f"[{section}]",
            f"\t{name} = {_quoted(value)}",
        ]
    return "".join(f"{line}\n" for line in lines)


def settings_in(listing: bytes) -> tuple[Setting, ...]:
    """From `git config --null --list`; a key without a value is true."""
    entries = (
        entry.partition("\n") for entry in listing.decode("utf-8", "surrogateescape").split("\0") if entry
    )
    return tuple((key, value if has_value else "true") for key, has_value, value in entries)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
