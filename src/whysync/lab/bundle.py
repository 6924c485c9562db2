"""Write the final state of a scenario as a bundle for `whysync diagnose --bundle`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from whysync.errors import UsageError
from whysync.facts.snapshot import Snapshot
from whysync.files import remove_empty_folders, remove_file, write_file
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def write_bundle(snapshot: Snapshot, folder: Path) -> int:
    """Write into a new or empty folder and return the number of files. A failure leaves no partial bundle."""
    existed = os.path.lexists(folder)
    written: list[Path] = []
    try:
        if existed and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                what=f"{folder} already exists",
                why="a bundle is written into a new folder; nothing is overwritten",
                next="name a new folder, or delete that one",
            )
        for name, text in _files(snapshot):
            path = folder / name
            written.append(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text.encode())
    except BaseException as problem:
        if written:
            with suppress(OSError):
                for path in written:
                    remove_file(path)
                remove_empty_folders(folder, keep_root=existed)
        if not isinstance(problem, OSError):
            raise
        raise UsageError(
            what=f"the bundle cannot be written to {folder}",
            why=problem.strerror or str(problem),
            next="free some space, or name another folder",
        ) from problem
    return len(written)


def _files(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    header: dict[str, Json] = {"apiVersion": "whysync.dev/v1", "kind": "Bundle"}
    if snapshot.collected_at is not None:
        header["collectedAt"] = snapshot.collected_at.isoformat().replace("+00:00", "Z")
    if snapshot.argocd_version:
        header["argocdVersion"] = snapshot.argocd_version
    if snapshot.gaps:
        header["gaps"] = [gap.data for gap in snapshot.gaps]
    yield "bundle.yaml", yaml.dump(header)
    yield from _objects("applications", snapshot.applications)
    yield from _objects("projects", snapshot.projects)
    yield from _objects("settings", snapshot.settings)
    for app, manifests in snapshot.desired.items():
        yield from _objects(f"desired/{_plain(app.replace('/', '_', 1))}", manifests)
    yield from _objects("live", snapshot.live)
    yield from _objects("events", snapshot.events)
    for log in snapshot.logs:
        name = f"{log.container}{'.previous' if log.previous else ''}.log"
        lines = "".join(f"{line}\n" for line in log.lines)
        yield f"logs/{_plain(log.namespace)}/{_plain(log.pod)}/{_plain(name)}", lines
    if snapshot.heads:
        heads: list[Json] = [
            {"repo": head.repo, "revision": head.revision, "commit": head.commit} for head in snapshot.heads
        ]
        yield "git/heads.yaml", yaml.dump(heads)
    for extra in snapshot.facts:
        yield f"facts/{_plain(extra.name)}.yaml", yaml.dump(extra.body)


def _objects(folder: str, manifests: Sequence[Manifest]) -> Iterator[tuple[str, str]]:
    """One file per object; the number keeps their order."""
    for number, manifest in enumerate(manifests):
        ref = manifest.ref
        name = "_".join(_plain(part) for part in (ref.kind.lower(), ref.namespace, ref.name) if part)
        yield f"{folder}/{number:04d}_{name[:120]}.yaml", yaml.dump(manifest.body)


def _plain(name: str) -> str:
    """The name of an object as a file name without path separators."""
    return _ODD.sub("-", name).lstrip(".") or "unnamed"
