"""Read a bundle: all inputs as one Snapshot without secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from whysync.errors import NotFound, Unreadable
from whysync.facts.bundle.builder import BundleBuilder
from whysync.facts.bundle.entries import Entry, with_prefix
from whysync.facts.bundle.inputs import EXPECTED, files_of
from whysync.facts.bundle.limits import Budget, BundleLimits
from whysync.facts.bundle.packing import PACKED_FROM, Packer
from whysync.facts.bundle.roles import FOLDERS
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import garbage_collection_paused, text
from whysync.kubernetes.api.manifest import Manifest

Progress = Callable[[str, int], None]
_TOGETHER = 1 << 17
"""Bytes of objects that are checked for secrets together."""


def read_bundle(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    limits: BundleLimits | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """All inputs as one Snapshot; `progress` gets each file and the bytes read so far."""
    builders, masker, packer = _read(paths, stdin, limits, progress)
    with garbage_collection_paused():
        return mask_snapshot(_snapshot(_combined(builders), packer), masker)


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
    builders, masker, packer = _read(paths, stdin, limits, progress)
    with garbage_collection_paused():
        if not _collide(builders):
            return (mask_snapshot(_snapshot(_combined(builders), packer), masker),)
        names = instance_names([str(path) for path in paths])
        parts = [builder for builder in builders if not builder.applications()]
        return tuple(
            replace(mask_snapshot(_snapshot(_combined([builder, *parts]), packer), masker), instance=name)
            for builder, name in zip(builders, names, strict=True)
            if builder.applications()
        )


def _read(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None,
    limits: BundleLimits | None,
    progress: Progress | None,
) -> tuple[list[BundleBuilder], Masker, Packer]:
    if not paths:
        raise NotFound(what="no bundle was given", next=f"give {EXPECTED}")
    limits = limits or BundleLimits()
    budget, masker, builders = Budget(limits), Masker(), list[BundleBuilder]()
    packer = Packer(masker)
    with garbage_collection_paused():
        for prefix, path in zip(_prefixes(paths), paths, strict=True):
            masker.next_input()
            builder = BundleBuilder(limits)
            builders.append(builder)
            for file in with_prefix(files_of(str(path), budget, stdin), prefix):
                if not isinstance(file, Entry):
                    builder.skip(file)
                    continue
                is_large = budget.unpacked >= PACKED_FROM
                entry = Entry(name=file.name, data=masker.renumbered(file.data), cut=file.cut)
                builder.add(entry, packing=is_large)
                if is_large:
                    _pack(builders, packer, at_least=_TOGETHER)
                if progress is not None:
                    progress(file.name, budget.unpacked)
        if all(builder.is_empty for builder in builders):
            raise _empty_bundle(_combined(builders), paths, masker)
        if budget.unpacked >= PACKED_FROM:
            _pack(builders, packer)
    if packer.finish():
        masker.forget_texts()
    return builders, masker, packer


def _pack(builders: Sequence[BundleBuilder], packer: Packer, *, at_least: int = 0) -> None:
    """Pack all objects that are not: those of the last files, or, when the bundle has become large, all."""
    for builder in builders:
        added = builder.added(at_least=at_least)
        if added is not None:
            packer.add(added)


def _snapshot(builder: BundleBuilder, packer: Packer) -> Snapshot:
    return replace(builder.snapshot(), open_packs=packer.open_packs)


def _combined(builders: Sequence[BundleBuilder]) -> BundleBuilder:
    first, *more = builders
    if not more:
        return first
    builder = BundleBuilder(first.limits)
    for bundle in builders:
        builder.add_all(bundle)
    return builder


def _collide(builders: Sequence[BundleBuilder]) -> bool:
    """Does an Application of one input have the name of another Application in another input?"""
    by_name: dict[str, Manifest] = {}
    for builder in builders:
        for name, app in builder.applications().items():
            before = by_name.setdefault(name, app)
            if before is not app and not _are_same(before, app):
                return True
    return False


def _are_same(manifest: Manifest, other: Manifest) -> bool:
    """Is it the same object, perhaps read at two times? Without a `uid`, only if nothing differs."""
    uid, other_uid = text(manifest.meta.get("uid")), text(other.meta.get("uid"))
    return uid == other_uid if uid and other_uid else manifest.body == other.body


def instance_names(paths: Sequence[str]) -> list[str]:
    """The file name of each bundle without its ending; with a parent folder if two are equal."""
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
        is_part = is_folder and path.name in FOLDERS and not _is_complete(path)
        prefix = ""
        if is_part or (len(paths) > 1 and path.name and (is_folder or is_archive)):
            prefix = f"{path.name}/"
        clashes = prefix in prefixes or (not is_part and path.name in FOLDERS)
        prefixes.append(f"{path.name}.{len(prefixes) + 1}/" if prefix and clashes else prefix)
    return prefixes


def _is_complete(folder: Path) -> bool:
    """A complete bundle may be in a folder that is called `live` or `facts`."""
    return (folder / "bundle.yaml").exists() or any((folder / name).is_dir() for name in FOLDERS)


def _empty_bundle(builder: BundleBuilder, paths: Sequence[str | Path], masker: Masker) -> Unreadable:
    problem = f"{', '.join(map(str, paths))} contains nothing that whysync can read"
    if builder.gaps:
        why = "; ".join(f"{gap.what}: {gap.why}" for gap in builder.gaps[:3])
    elif builder.unknown:
        more = f" and {len(builder.unknown) - 3} more" if len(builder.unknown) > 3 else ""
        why = f"found only {', '.join(builder.unknown[:3])}{more}"
    else:
        why = "it is empty"
    return Unreadable(what=problem, why=masker.masked_text(why), next=f"give {EXPECTED}")
