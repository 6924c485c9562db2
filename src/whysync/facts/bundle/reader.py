"""Read a bundle: all inputs as one Snapshot without secrets."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from whysync.errors import NotFound, Unreadable
from whysync.facts.bundle.builder import BundleBuilder
from whysync.facts.bundle.entries import Entry, named
from whysync.facts.bundle.inputs import EXPECTED, files_of
from whysync.facts.bundle.limits import Budget, BundleLimits
from whysync.facts.bundle.roles import FOLDERS
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.snapshot import Snapshot

Progress = Callable[[str, int], None]


def read_bundle(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    limits: BundleLimits | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """All inputs as one Snapshot; `progress` gets each file and the bytes read so far."""
    if not paths:
        raise NotFound(what="no bundle was named", next=f"give {EXPECTED}")
    limits = limits or BundleLimits()
    budget, pile, masker = Budget(limits), BundleBuilder(limits), Masker()
    with _without_collector():
        for prefix, given in zip(_prefixes(paths), paths, strict=True):
            masker.next_input()
            for file in named(files_of(str(given), budget, stdin), prefix):
                if not isinstance(file, Entry):
                    pile.skip(file)
                    continue
                pile.add(Entry(name=file.name, data=masker.renumbered(file.data), cut=file.cut))
                if progress is not None:
                    progress(file.name, budget.unpacked)
        if pile.is_empty:
            raise _nothing(pile, paths, masker)
        return mask_snapshot(pile.snapshot(), masker)


def _prefixes(paths: Sequence[str | Path]) -> list[str]:
    """With several inputs each file name starts with its input.

    A folder such as `live` that is given alone keeps its meaning.
    """
    prefixes: list[str] = []
    for path in map(Path, paths):
        is_folder = str(path) != "-" and path.is_dir()
        is_archive = path.name.endswith((".gz", ".tgz", ".tar", ".zip"))
        is_part = is_folder and path.name in FOLDERS and not _is_whole(path)
        prefix = ""
        if is_part or (len(paths) > 1 and path.name and (is_folder or is_archive)):
            prefix = f"{path.name}/"
        clashes = prefix in prefixes or (not is_part and path.name in FOLDERS)
        prefixes.append(f"{path.name}.{len(prefixes) + 1}/" if prefix and clashes else prefix)
    return prefixes


def _is_whole(folder: Path) -> bool:
    """A complete bundle may be in a folder that is called `live` or `facts`."""
    return (folder / "bundle.yaml").exists() or any((folder / name).is_dir() for name in FOLDERS)


def _nothing(pile: BundleBuilder, paths: Sequence[str | Path], masker: Masker) -> Unreadable:
    what = f"{', '.join(map(str, paths))} has nothing that whysync can read"
    if pile.gaps:
        why = "; ".join(f"{gap.what}: {gap.why}" for gap in pile.gaps[:3])
    elif pile.unknown:
        more = f" and {len(pile.unknown) - 3} more" if len(pile.unknown) > 3 else ""
        why = f"found only {', '.join(pile.unknown[:3])}{more}"
    else:
        why = "it is empty"
    return Unreadable(what=what, why=masker.masked_text(why), next=f"give {EXPECTED}")


@contextmanager
def _without_collector() -> Generator[None]:
    """Disable garbage collection: there are millions of new dicts and no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
