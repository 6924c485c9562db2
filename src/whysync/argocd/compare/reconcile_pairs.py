"""Which live object belongs to which target. Mirrors gitops-engine `Reconcile`, Argo CD 3.6.

The version does not count. A target of unknown scope is looked for in its namespace and without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from whysync.argocd.hooks import is_hook, is_ignored
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import Key, Ref, key_of, ref_of


class Pair(msgspec.Struct, frozen=True):
    """Either side may be missing: no live object yet, or none in Git any more."""

    target: Object | None
    live: Object | None

    @property
    def obj(self) -> Object:
        body = self.live if self.live is not None else self.target
        assert body is not None
        return body


class Pairing(msgspec.Struct, frozen=True):
    pairs: tuple[Pair, ...]
    hooks: tuple[Object, ...]


class Sought(msgspec.Struct, frozen=True):
    """Git's side alone, for as many states of the cluster as there are to pair it with."""

    targets: tuple[tuple[Object, tuple[Key, ...]], ...]
    """Each with the keys that its live object may have."""
    hooks: tuple[Object, ...]


def pair(
    targets: Iterable[Object],
    lives: Mapping[Key, Object],
    *,
    namespace: str,
    is_namespaced: Callable[[Ref], bool | None],
) -> Pairing:
    """Targets in their order, then what is left of the live objects by key; `is_namespaced` may not know."""
    return matched(sought(targets, namespace=namespace, is_namespaced=is_namespaced), lives)


def sought(
    targets: Iterable[Object], *, namespace: str, is_namespaced: Callable[[Ref], bool | None]
) -> Sought:
    plain, hooks = split_hooks(targets)
    targets_with_keys: list[tuple[Object, tuple[Key, ...]]] = []
    for target in plain:
        ref = ref_of(target)
        scope = is_namespaced(ref)
        places = [ref.namespace or namespace] if scope is not False else []
        if not scope:
            places.append("")
        targets_with_keys.append(
            (target, tuple(Key(ref.group, ref.kind, place, ref.name) for place in places))
        )
    return Sought(tuple(targets_with_keys), hooks)


def matched(sought: Sought, lives: Mapping[Key, Object]) -> Pairing:
    remaining = without_twins((target for target, _ in sought.targets), lives)
    pairs: list[Pair] = []
    for target, keys in sought.targets:
        live_key = next((key for key in keys if key in remaining), None)
        pairs.append(Pair(target, remaining.pop(live_key) if live_key is not None else None))
    pairs += [Pair(None, remaining[key]) for key in sorted(remaining)]
    return Pairing(tuple(pairs), sought.hooks)


def split_hooks(targets: Iterable[Object]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Plain objects and hooks; hooks of unknown type are in neither."""
    plain: list[Object] = []
    hooks: list[Object] = []
    for target in targets:
        if not is_hook(target):
            plain.append(target)
        elif not is_ignored(target):
            hooks.append(target)
    return tuple(plain), tuple(hooks)


def without_twins(targets: Iterable[Object], lives: Mapping[Key, Object]) -> dict[Key, Object]:
    """One object seen through two API groups counts once, under the group that Git uses, if any."""
    if len({text(dig(live, "metadata", "uid")) for live in lives.values()}) == len(lives):
        return dict(lives)
    wanted = {key_of(target) for target in targets}
    by_uid: dict[str, list[Key]] = {}
    for key, live in lives.items():
        by_uid.setdefault(text(dig(live, "metadata", "uid")), []).append(key)
    dropped: set[Key] = set()
    for keys in by_uid.values():
        extra = [key for key in sorted(keys) if key_of(lives[key]) not in wanted]
        dropped.update(extra[: len(keys) - 1])
    return {key: live for key, live in lives.items() if key not in dropped}
