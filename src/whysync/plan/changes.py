"""The changes of a commit per resource, and their risks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from whysync.argocd import hooks
from whysync.argocd.app_controller.deletion.finalizers import Finalizers
from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.argocd.repo_server.render.options import Origin
from whysync.diagnosis.drift.raw_difference import differences
from whysync.json_tree import Object, dig, integer, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.plan.find_applications import is_application
from whysync.plan.plan import Change, ChangeKind
from whysync.plan.renames import has_new_hash, lost_by_rename, renames
from whysync.proofs.restarts import restart_of
from whysync.proofs.sync_effects import Effects

_WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"})
_LOST: Final = {
    "Secret": "its data is deleted with it",
    "PersistentVolumeClaim": "its data may be lost with it",
    "PersistentVolume": "its data may be lost with it",
    "Namespace": "and all that is in it",
    "Service": "its address is lost",
    "Ingress": "its address is lost",
}
_ORDER: Final = tuple(ChangeKind)
_MAX_FIELDS: Final = 20


def changes_of(
    base: Iterable[Object],
    head: Iterable[Object],
    namespace: str,
    *,
    prunes: bool,
    base_namespace: str = "",
    effects: Effects | None = None,
    live: frozenset[Key] | None = None,
    origins: Mapping[Key, Origin] | None = None,
) -> tuple[Change, ...]:
    """Changes between two renderings. `live` are the objects of the cluster if they are known.

    `namespace` is the destination, and `base_namespace` that of the base if the commit changes it. `origins`
    are the files of the new objects, and of those that are removed.
    """
    old, new = _by_key(base, base_namespace or namespace), _by_key(head, namespace)
    recreated = {ref.key for ref in effects.recreated} if effects is not None else set[Key]()
    restarts = dict(effects.restarted) if effects is not None else {}
    restarted_pods = {ref.key: number for ref, number in restarts.items()}
    changes: list[Change] = []
    for key, obj in new.items():
        ref = _ref_of(obj, key)
        if hooks.is_hook(obj):
            if old.get(key) != obj:
                changes.append(Change(sort=ChangeKind.HOOK, ref=ref))
            continue
        before = old.get(key)
        if before is None and (live is None or key not in live):
            changes.append(Change(sort=ChangeKind.CREATE, ref=ref))
        elif before is None or before != obj:
            pointers_of = _fields(before, obj) if before is not None else ()
            if key in recreated:
                risk = _LOST.get(ref.kind, "deleted first, then created again")
                changes.append(Change(sort=ChangeKind.RECREATE, ref=ref, risk=risk, fields=pointers_of))
            elif before is None or pointers_of:
                changes.append(
                    Change(
                        sort=ChangeKind.CHANGE,
                        ref=ref,
                        risk=_restart(obj, ref, pointers_of, restarted_pods.get(key)),
                        fields=pointers_of,
                    )
                )
    for key, obj in old.items():
        if key in new or hooks.is_hook(obj):
            continue
        ref = _ref_of(obj, key)
        stays = not prunes or hooks.has_option(obj, hooks.SYNC_OPTIONS, "Prune=false")
        risk = "stays in the cluster: it is not pruned"
        changes.append(Change(sort=ChangeKind.KEEP, ref=ref, risk=risk) if stays else _pruned(obj, ref))
    linked = _with_renames(changes, old, new)
    return tuple(sorted(_with_origins(linked, origins or {}), key=_sort_key))


def _with_origins(changes: Iterable[Change], origins: Mapping[Key, Origin]) -> Iterator[Change]:
    for change in changes:
        origin = origins.get(change.ref.key)
        yield replace(change, origin=str(origin)) if origin is not None else change


def _sort_key(change: Change) -> tuple[int, str, str, bool]:
    """Sort by kind of change; the new object of a rename follows the old one."""
    counterpart = change.renamed
    if counterpart is None:
        return _ORDER.index(change.sort), change.ref.kind, str(change.ref), False
    created = change.sort is ChangeKind.CREATE
    return (
        _ORDER.index(ChangeKind.PRUNE),
        change.ref.kind,
        str(counterpart if created else change.ref),
        created,
    )


def removals(
    objects: Iterable[Object],
    namespace: str,
    *,
    deleted: bool,
    origins: Mapping[Key, Origin] | None = None,
) -> tuple[Change, ...]:
    """The changes when an Application leaves Git: its resources are deleted with it, or stay."""
    changes = [
        _pruned(obj, _ref_of(obj, key))
        if deleted
        else Change(
            sort=ChangeKind.KEEP, ref=_ref_of(obj, key), risk="stays in the cluster, no longer managed"
        )
        for key, obj in _by_key(objects, namespace).items()
        if not hooks.is_hook(obj)
    ]
    return tuple(sorted(_with_origins(changes, origins or {}), key=_sort_key))


def _pruned(obj: Object, ref: Ref) -> Change:
    """The removal of an object. To stop a workload is what the commit asks for; to lose its data is not."""
    risk = lost_with(obj)
    is_harmful = bool(risk) and (ref.kind not in _WORKLOADS or _deletes_claims(obj))
    return Change(sort=ChangeKind.PRUNE, ref=ref, risk=risk, is_harmful=is_harmful)


def lost_with(obj: Object) -> str:
    kind = text(obj.get("kind"))
    if is_application(obj):
        cascades = Finalizers.of(obj).cascades
        return "and all that it deployed" if cascades else "what it deployed stays, no longer managed"
    if kind == "StatefulSet" and _deletes_claims(obj):
        return "its pods stop, and its claims are deleted with their data"
    if kind == "CustomResourceDefinition":
        return f"and with it every {text(dig(obj, 'spec', 'names', 'kind')) or 'object of its kind'}"
    if kind in _WORKLOADS:
        return "its pods stop"
    if kind == "Service" and dig(obj, "spec", "type") != "LoadBalancer":
        return ""
    return _LOST.get(kind, "")


def has_volumes(obj: Object) -> bool:
    """Does it declare volumes with data of their own?"""
    claims = obj.get("kind") == "StatefulSet" and items(dig(obj, "spec", "volumeClaimTemplates"))
    return obj.get("kind") == "PersistentVolumeClaim" or bool(claims)


def _deletes_claims(stateful_set: Object) -> bool:
    policy = dig(stateful_set, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
    return policy == "Delete" and bool(items(dig(stateful_set, "spec", "volumeClaimTemplates")))


def _restart(obj: Object, ref: Ref, changed: tuple[str, ...], pods: int | None) -> str:
    if ref.kind not in _WORKLOADS or not any(
        pointers.within(pointer, "/spec/template") for pointer in changed
    ):
        return ""
    restart = restart_of(obj, pods or integer(dig(obj, "spec", "replicas")) or 1)
    if not restart.restarted:
        return restart.how
    at_once = " all at once" if dig(obj, "spec", "strategy", "type") == "Recreate" else ""
    return f"restart of {restart.restarted} pods{at_once}" if pods and restart.restarted > 1 else "restart"


def _with_renames(changes: list[Change], old: dict[Key, Object], new: dict[Key, Object]) -> list[Change]:
    """Link both halves of a rename."""
    removed = {
        change.ref.key: change for change in changes if change.sort in (ChangeKind.PRUNE, ChangeKind.KEEP)
    }
    created = {change.ref.key: change for change in changes if change.sort is ChangeKind.CREATE}
    old_key_of = renames(
        {key: old[key] for key in removed if key in old}, {key: new[key] for key in created if key in new}
    )
    new_key_of = {key: new_key for new_key, key in old_key_of.items()}
    result: list[Change] = []
    for change in changes:
        key = change.ref.key
        if change.sort is ChangeKind.CREATE and key in old_key_of:
            change = replace(change, renamed=removed[old_key_of[key]].ref)
        elif change.sort in (ChangeKind.PRUNE, ChangeKind.KEEP) and key in new_key_of:
            pruned = change.sort is ChangeKind.PRUNE
            risk = lost_by_rename(old[key], new[new_key_of[key]], change.risk) if pruned else change.risk
            is_generated = has_new_hash(new_key_of[key].name, key.name)
            change = replace(
                change,
                renamed=created[new_key_of[key]].ref,
                risk="" if is_generated and pruned else risk,
                is_harmful=pruned and bool(risk) and not is_generated,
            )
        result.append(change)
    return result


def _fields(before: Object, after: Object) -> tuple[str, ...]:
    return tuple(sorted({difference.pointer for difference in differences(after, before)})[:_MAX_FIELDS])


def _by_key(objects: Iterable[Object], namespace: str) -> dict[Key, Object]:
    by_key: dict[Key, Object] = {}
    for obj in objects:
        key = key_of(obj, namespace)
        if not key.name:  # several objects may use generateName
            key = key._replace(name=text(dig(obj, "metadata", "generateName")))
        by_key.setdefault(key, obj)
    return by_key


def key_of(obj: Object, namespace: str) -> Key:
    """The key with the app's namespace if the manifest has none, unless its kind is cluster-scoped."""
    key = ref_of(obj).key
    return key if key.namespace or is_cluster_scoped_kind(key.kind) else key._replace(namespace=namespace)


def _ref_of(obj: Object, key: Key) -> Ref:
    ref = ref_of(obj)
    prefix = text(dig(obj, "metadata", "generateName"))
    name = ref.name or (f"{prefix}…" if prefix else "")
    return Ref(group=ref.group, version=ref.version, kind=ref.kind, namespace=key.namespace, name=name)
