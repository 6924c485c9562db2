"""Pairs targets with live objects. Mirrors gitops-engine `Reconcile`, Argo CD 3.6.

Versions are ignored. The live object of a target of unknown scope may have the namespace or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from whysync.argocd.hooks import is_hook, is_ignored
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import Key, Ref, key_of, ref_of


class Pair(msgspec.Struct, frozen=True):
    """A target and its live object, of which one may be missing."""

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


class TargetKeys(msgspec.Struct, frozen=True):
    """The targets with the keys of their live objects, reusable for several states of the cluster."""

    targets: tuple[tuple[Object, tuple[Key, ...]], ...]
    """Each target with the possible keys of its live object."""
    hooks: tuple[Object, ...]


def pair(
    targets: Iterable[Object],
    lives: Mapping[Key, Object],
    *,
    namespace: str,
    is_namespaced: Callable[[Ref], bool | None],
) -> Pairing:
    """Pairs of targets in their order, then the remaining live objects by key."""
    return match_live(target_keys(targets, namespace=namespace, is_namespaced=is_namespaced), lives)


def target_keys(
    targets: Iterable[Object], *, namespace: str, is_namespaced: Callable[[Ref], bool | None]
) -> TargetKeys:
    plain, hooks = split_hooks(targets)
    targets_with_keys: list[tuple[Object, tuple[Key, ...]]] = []
    for target in plain:
        ref = ref_of(target)
        scope = is_namespaced(ref)
        namespaces = [ref.namespace or namespace] if scope is not False else []
        if not scope:
            namespaces.append("")
        targets_with_keys.append(
            (target, tuple(Key(ref.group, ref.kind, key_namespace, ref.name) for key_namespace in namespaces))
        )
    return TargetKeys(tuple(targets_with_keys), hooks)


def match_live(target_keys: TargetKeys, lives: Mapping[Key, Object]) -> Pairing:
    remaining = dedup_live_resources((target for target, _ in target_keys.targets), lives)
    pairs: list[Pair] = []
    for target, keys in target_keys.targets:
        live = None
        for key in keys:
            live = remaining.pop(key, None)
            if live is not None:
                break
        pairs.append(Pair(target, live))
    pairs += [Pair(None, remaining[key]) for key in sorted(remaining)]
    return Pairing(tuple(pairs), target_keys.hooks)


def split_hooks(targets: Iterable[Object]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Plain objects and hooks; hooks of an unknown type are in neither."""
    plain: list[Object] = []
    hooks: list[Object] = []
    for target in targets:
        if not is_hook(target):
            plain.append(target)
        elif not is_ignored(target):
            hooks.append(target)
    return tuple(plain), tuple(hooks)


def dedup_live_resources(targets: Iterable[Object], lives: Mapping[Key, Object]) -> dict[Key, Object]:
    """Mirrors `dedupLiveResources`: an object in two API groups is kept once, in the group that Git uses."""
    if len({text(dig(live, "metadata", "uid")) for live in lives.values()}) == len(lives):
        return dict(lives)
    keys_in_git = {key_of(target) for target in targets}
    by_uid: dict[str, list[Key]] = {}
    for key, live in lives.items():
        by_uid.setdefault(text(dig(live, "metadata", "uid")), []).append(key)
    dropped: set[Key] = set()
    for keys in by_uid.values():
        extra = [key for key in sorted(keys) if key_of(lives[key]) not in keys_in_git]
        dropped.update(extra[: len(keys) - 1])
    return {key: live for key, live in lives.items() if key not in dropped}
