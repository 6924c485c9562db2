"""Read a bundle: all inputs as one Snapshot without secrets."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from whysync.errors import NotFound, Unreadable
from whysync.facts.bundle.builder import BundleBuilder
from whysync.facts.bundle.entries import Entry, named
from whysync.facts.bundle.inputs import EXPECTED, files_of
from whysync.facts.bundle.limits import Budget, BundleLimits
from whysync.facts.bundle.roles import FOLDERS
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest

Progress = Callable[[str, int], None]


def read_bundle(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    limits: BundleLimits | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """All inputs as one Snapshot; `progress` gets each file and the bytes read so far."""
    piles, masker = _read(paths, stdin, limits, progress)
    with _without_collector():
        return mask_snapshot(_combined(piles).snapshot(), masker)


def read_bundles(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    limits: BundleLimits | None = None,
    progress: Progress | None = None,
) -> tuple[Snapshot, ...]:
    """One Snapshot per Argo CD instance. Inputs are parts of one instance unless their Applications collide.

    Two inputs are different instances if each has an Application of the same name that is not the same
    object. Inputs without Applications belong to every instance.
    """
    piles, masker = _read(paths, stdin, limits, progress)
    with _without_collector():
        if not _collide(piles):
            return (mask_snapshot(_combined(piles).snapshot(), masker),)
        names = instance_names([str(path) for path in paths])
        parts = [pile for pile in piles if not pile.applications()]
        return tuple(
            replace(mask_snapshot(_combined([pile, *parts]).snapshot(), masker), instance=name)
            for pile, name in zip(piles, names, strict=True)
            if pile.applications()
        )


def _read(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None,
    limits: BundleLimits | None,
    progress: Progress | None,
) -> tuple[list[BundleBuilder], Masker]:
    if not paths:
        raise NotFound(what="no bundle was named", next=f"give {EXPECTED}")
    limits = limits or BundleLimits()
    budget, masker, piles = Budget(limits), Masker(), list[BundleBuilder]()
    with _without_collector():
        for prefix, given in zip(_prefixes(paths), paths, strict=True):
            masker.next_input()
            pile = BundleBuilder(limits)
            piles.append(pile)
            for file in named(files_of(str(given), budget, stdin), prefix):
                if not isinstance(file, Entry):
                    pile.skip(file)
                    continue
                pile.add(Entry(name=file.name, data=masker.renumbered(file.data), cut=file.cut))
                if progress is not None:
                    progress(file.name, budget.unpacked)
        if all(pile.is_empty for pile in piles):
            raise _nothing(_combined(piles), paths, masker)
    return piles, masker


def _combined(piles: Sequence[BundleBuilder]) -> BundleBuilder:
    first, *others = piles
    if not others:
        return first
    pile = BundleBuilder(first.limits)
    for part in piles:
        pile.add_all(part)
    return pile


def _collide(piles: Sequence[BundleBuilder]) -> bool:
    """Does an Application of one input have the name of another Application in another input?"""
    known: dict[str, Manifest] = {}
    for pile in piles:
        for name, app in pile.applications().items():
            before = known.setdefault(name, app)
            if before is not app and not _are_same(before, app):
                return True
    return False


def _are_same(one: Manifest, other: Manifest) -> bool:
    """Is it the same object, perhaps read at two times? Without a `uid`, only if nothing differs."""
    uid, other_uid = text(one.meta.get("uid")), text(other.meta.get("uid"))
    return uid == other_uid if uid and other_uid else one.body == other.body


def instance_names(paths: Sequence[str]) -> list[str]:
    """The file name of each bundle without its ending; if two are equal, a folder that tells them apart."""
    parts = [
        ("stdin",) if path == "-" else _without_ending(Path(path).absolute()).parts[1:] for path in paths
    ]
    for depth in range(1, min(map(len, parts)) + 1):
        names = [part[-depth] for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{part[-1] if part else 'bundle'}-{number}" for number, part in enumerate(parts, start=1)]


def _without_ending(path: Path) -> Path:
    for ending in (".tar.gz", ".tgz", ".tar", ".zip", ".yaml", ".yml", ".json", ".gz"):
        if path.name.endswith(ending) and path.name != ending:
            return path.with_name(path.name.removesuffix(ending))
    return path


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
