"""Rendered manifests made ready for comparing: namespaces put right, duplicates dropped.

Mirrors `NormalizeTargetObjects`, Argo CD 3.6; differs: the order of the targets is kept, where upstream's is
left to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import Key, Ref, ref_of


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    objects: tuple[Object, ...]
    repeated: tuple[tuple[Key, int], ...] = ()
    """Names that occur more than once, and how often: the last one counts."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The messages of RepeatedResourceWarning conditions."""
        return tuple(
            f"Resource {key} appeared {times} times among application resources."
            for key, times in self.repeated
        )


def prepared_targets(
    targets: Iterable[Object],
    *,
    namespace: str,
    is_namespaced: Callable[[Ref], bool | None],
    track: Callable[[Object], Object] = lambda obj: obj,
) -> Targets:
    """A kind of unknown scope counts as namespaced; `track` marks an object anew in its new namespace."""
    by_key: dict[Key, list[Object]] = {}
    for position, target in enumerate(targets):
        ref = ref_of(target)
        wanted = (ref.namespace or namespace) if is_namespaced(ref) is not False else ""
        if wanted != ref.namespace:
            target = track(in_namespace(target, wanted))
        name = ref.name or _generated(target, position)
        by_key.setdefault(Key(ref.group, ref.kind, wanted, name), []).append(target)
    return Targets(
        objects=tuple(same[-1] for same in by_key.values()),
        repeated=tuple((key, len(same)) for key, same in by_key.items() if len(same) > 1),
    )


def in_namespace(obj: Object, namespace: str) -> Object:
    metadata = {key: value for key, value in fields(obj.get("metadata")).items() if key != "namespace"}
    return {**obj, "metadata": {**metadata, "namespace": namespace} if namespace else metadata}


def _generated(obj: Object, position: int) -> str:
    """Objects with `generateName` never collide."""
    prefix = text(dig(obj, "metadata", "generateName"))
    return f"{prefix}{position}" if prefix else ""
