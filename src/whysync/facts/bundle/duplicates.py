"""Remove duplicate objects: the newer one is used, and a difference is a gap."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest, Role


def without_duplicates(manifests: Iterable[Manifest], gaps: list[Gap]) -> tuple[Manifest, ...]:
    """Each object once, at its first position. Objects with `generateName` are never duplicates."""
    kept: dict[object, Manifest] = {}
    for manifest in manifests:
        ref = manifest.ref
        if not ref.name:
            kept[id(manifest)] = manifest
            continue
        # Events are served by two API groups.
        group = "" if manifest.role is Role.EVENT else ref.group
        key = (group, ref.kind, ref.namespace, ref.name, manifest.cluster)
        before = kept.get(key)
        if before is None:
            kept[key] = manifest
            continue
        newest = before if _version(before) > _version(manifest) else manifest
        kept[key] = newest
        if before.body != manifest.body and manifest.role is not Role.EVENT:
            gaps.append(
                Gap(
                    kind=GapKind.AMBIGUOUS,
                    what=f"which {manifest.role} {ref} is the right one",
                    why=f"{before.origin} and {manifest.origin} differ; {newest.origin} was taken",
                    how_to_get="collect the bundle again, or leave one of them out",
                )
            )
    return tuple(kept.values())


def _version(one: Manifest) -> int:
    """`resourceVersion` grows with every write; without it, the later object is used."""
    version = text(one.meta.get("resourceVersion"))
    return int(version) if version.isdecimal() and len(version) < 20 else -1
