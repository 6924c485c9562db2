"""What controllers do after a deletion: owned objects, namespaces, claims in use, definitions.

Mirrors the garbage collector, the namespace controller, the claim protection and the cleanup of custom
resources, Kubernetes 1.36, without their delays: everything that can settle settles at once. The journal
tells what changed, and only that and what it touches is looked at.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.admission.builtin_plugins import namespace_conditions
from whysync.kubernetes.apiserver.deletion import DeleteHandler
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.managed_fields import Writing, after_update, kept_managed, with_managed
from whysync.kubernetes.apiserver.storage import Change, Place, Store, owners_of, uid_of
from whysync.kubernetes.apiserver.url_paths import UrlPath
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.structured import FieldSet

_MOST_ROUNDS: Final = 100
_CLAIM_IN_USE: Final = "kubernetes.io/pvc-protection"
_VOLUME_IN_USE: Final = "kubernetes.io/pv-protection"
_CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
_NAMESPACES: Final = ("", "namespaces")
_PODS: Final = ("", "pods")
_CLAIMS: Final = ("", "persistentvolumeclaims")
_VOLUMES: Final = ("", "persistentvolumes")
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


class GarbageCollection:
    def __init__(self, store: Store, discovery: Discovery, removal: DeleteHandler, clock: Clock) -> None:
        self._store = store
        self._discovery = discovery
        self._removal = removal
        self._clock = clock
        self._read = 0
        self._users: dict[Place, set[Place]] = {}
        """Of claims that Pods mount: which Pods."""

    def settle(self) -> bool:
        """Until nothing moves any more; true where anything did."""
        start = len(self._store.journal)
        for _ in range(_MOST_ROUNDS):
            touched = self._touched()
            if not touched:
                break
            for place in sorted(touched):
                self._mind(place)
            self.end_definitions()
        return len(self._store.journal) > start

    def _touched(self) -> set[Place]:
        """What changed since the last look, and all that may have to follow it."""
        journal = self._store.journal
        touched: set[Place] = set()
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.place[0] == _PODS:
                touched.update(self._mounts(change))
            if change.place[0] == _CLAIMS and change.type == "DELETED":
                touched.add((_VOLUMES, "", text(dig(change.obj, "spec", "volumeName"))))
            if change.type == "DELETED":
                touched.update(self._store.owned_by(uid_of(change.obj)))
            else:
                touched.add(change.place)
            for owner in owners_of(change.obj):
                touched.update(self._store.known_as(owner))
            space: Place = (_NAMESPACES, "", change.place[1])
            if "deletionTimestamp" in fields((self._store.get(space) or {}).get("metadata")):
                touched.add(space)
        return touched

    def _mounts(self, change: Change) -> list[Place]:
        """The claims that a Pod holds, noted; those that it let go of."""
        place, pod = change.place, change.obj
        claims: list[Place] = [
            (_CLAIMS, place[1], text(dig(volume, "persistentVolumeClaim", "claimName")))
            for volume in items(dig(pod, "spec", "volumes"))
            if "persistentVolumeClaim" in fields(volume)
        ]
        for claim in claims:
            users = self._users.setdefault(claim, set())
            if change.type == "DELETED":
                users.discard(place)
            else:
                users.add(place)
        return claims if change.type == "DELETED" else []

    def _mind(self, place: Place) -> None:
        obj = self._store.get(place)
        if obj is None:
            return
        meta = fields(obj.get("metadata"))
        if "deletionTimestamp" not in meta:
            if meta.get("ownerReferences"):
                self._mind_owners(place, obj)
            return
        if place[0] == _NAMESPACES:
            self._end_namespace(place, obj)
            return
        finalizers = items(meta.get("finalizers"))
        if "orphan" in finalizers:
            self._orphan(place, obj)
        elif "foregroundDeletion" in finalizers:
            self._delete_dependents(place, obj)
        elif _CLAIM_IN_USE in finalizers and place[0] == _CLAIMS and not self._users.get(place):
            self._finish(place, _CLAIM_IN_USE)
        elif _VOLUME_IN_USE in finalizers and place[0] == _VOLUMES and not self._claimed(obj):
            self._finish(place, _VOLUME_IN_USE)

    def _claimed(self, volume: Object) -> bool:
        wanted = fields(dig(volume, "spec", "claimRef"))
        claim = self._store.get((_CLAIMS, text(wanted.get("namespace")), text(wanted.get("name"))))
        return claim is not None and wanted.get("uid") in (None, uid_of(claim))

    # -- owners -----------------------------------------------------------------------------------

    def _mind_owners(self, place: Place, obj: Object) -> None:
        references = items(dig(obj, "metadata", "ownerReferences"))
        kept: list[Json] = [
            reference for reference in references if self._exists(text(fields(reference).get("uid")))
        ]
        if not kept:
            resource = self._discovery.of_store(place[0])
            if resource is not None:
                self._removal.remove(place, resource)
        elif len(kept) < len(references):
            self._change(place, obj, ownerReferences=kept)

    def _exists(self, uid: str) -> bool:
        return bool(self._store.known_as(uid)) or uid in self._store.elsewhere

    def _orphan(self, place: Place, obj: Object) -> None:
        uid = uid_of(obj)
        for child in self._store.owned_by(uid):
            dependent = self._store.get(child)
            if dependent is not None:
                self._disown(child, dependent, uid)
        self._finish(place, "orphan")

    def _delete_dependents(self, place: Place, obj: Object) -> None:
        uid = uid_of(obj)
        dependents = self._store.owned_by(uid)
        for child in dependents:
            dependent, resource = self._store.get(child), self._discovery.of_store(child[0])
            if (
                dependent is not None
                and resource is not None
                and not dig(dependent, "metadata", "deletionTimestamp")
            ):
                self._removal.remove(child, resource)
        if not any(self._blocks(child, uid) for child in dependents):
            self._finish(place, "foregroundDeletion")

    def _blocks(self, child: Place, owner: str) -> bool:
        dependent = self._store.get(child)
        references = [] if dependent is None else items(dig(dependent, "metadata", "ownerReferences"))
        return any(
            fields(reference).get("uid") == owner and fields(reference).get("blockOwnerDeletion") is True
            for reference in references
        )

    def _disown(self, place: Place, obj: Object, owner: str) -> None:
        kept: list[Json] = [
            owner_reference
            for owner_reference in items(dig(obj, "metadata", "ownerReferences"))
            if fields(owner_reference).get("uid") != owner
        ]
        self._change(place, obj, ownerReferences=kept)

    def _finish(self, place: Place, finalizer: str) -> None:
        """Removes a finalizer; the object is deleted if it was the last one."""
        obj = self._store.get(place)
        if obj is None:
            return
        kept: list[Json] = [
            other_finalizer
            for other_finalizer in items(dig(obj, "metadata", "finalizers"))
            if other_finalizer != finalizer
        ]
        if kept:
            self._change(place, obj, finalizers=kept)
        else:
            self._store.drop(place)

    def _change(self, place: Place, obj: Object, **parts: list[Json]) -> None:
        meta = dict(fields(obj.get("metadata")))
        for key, value in parts.items():
            if value:
                meta[key] = value
            else:
                meta.pop(key, None)
        self.keep(place, {**obj, "metadata": meta}, subresource="")

    def keep(
        self, place: Place, new: Object, *, subresource: str, manager: str = "kube-controller-manager"
    ) -> Object:
        """Store a controller's change of an object that is there, and who owns its fields."""
        old = self._store.get(place)
        if old is None:
            return self._store.put(place, new)
        version = text(old.get("apiVersion"))
        served = self._discovery.served(UrlPath(version, place[0][1]))
        writing = Writing(
            manager=manager,
            subresource=subresource,
            api_version=version,
            now=self._clock.stamp(),
            excluded=FieldSet(),
        )
        managed = kept_managed(old)
        if managed.claims:
            new = with_managed(new, after_update(old, new, managed, writing, served.atom))
        return self._store.put(place, new)

    # -- namespaces, definitions ------------------------------------------------------------------

    def _end_namespace(self, place: Place, namespace: Object) -> None:
        for inner_place in self._store.inside(place[2]):
            resource = self._discovery.of_store(inner_place[0])
            inner = self._store.get(inner_place)
            if resource is not None and inner is not None and not dig(inner, "metadata", "deletionTimestamp"):
                self._removal.remove(inner_place, resource)
        left = [
            (inner_place, obj)
            for inner_place in self._store.inside(place[2])
            if (obj := self._store.get(inner_place)) is not None
        ]
        held = bool(items(dig(namespace, "metadata", "finalizers")))
        if left or held:
            self._tell(place, namespace, left)
        else:
            self._store.drop(place)

    def _tell(self, place: Place, namespace: Object, left: list[tuple[Place, Object]]) -> None:
        """What holds a namespace that is to go, in its conditions."""
        status = fields(namespace.get("status"))
        conditions = namespace_conditions(left, self._clock.stamp())
        if [_timeless(condition) for condition in items(status.get("conditions"))] == [
            _timeless(condition) for condition in conditions
        ]:
            return
        new: Object = {**namespace, "status": {**status, "conditions": conditions}}
        if not left:
            spec = {key: value for key, value in fields(namespace.get("spec")).items() if key != "finalizers"}
            new["spec"] = spec
        self.keep(place, new, subresource="status")

    def end_definitions(self) -> None:
        """Deletes the custom resources of a kind before its CustomResourceDefinition is deleted."""
        for place in self._store.leaving(_DEFINITIONS):
            definition = self._store.get(place)
            if definition is None:
                continue
            spec = fields(definition.get("spec"))
            where = (text(spec.get("group")), text(dig(spec, "names", "plural")))
            resource = self._discovery.of_store(where)
            for instance_place, obj in self._store.within(where):
                if resource is not None and not dig(obj, "metadata", "deletionTimestamp"):
                    self._removal.remove(instance_place, resource)
            if any(True for _ in self._store.within(where)):
                self._tell_progress(place, definition)
            else:
                self._finish(place, _CLEANUP)

    def _tell_progress(self, place: Place, definition: Object) -> None:
        """The definition waits for objects that something holds."""
        status = fields(definition.get("status"))
        progress: Object = {
            "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
        }
        conditions: list[Json] = [
            {**fields(condition), **progress} if fields(condition).get("type") == "Terminating" else condition
            for condition in items(status.get("conditions"))
        ]
        if conditions != items(status.get("conditions")):
            new: Object = {**definition, "status": {**status, "conditions": conditions}}
            self.keep(place, new, subresource="status", manager="kube-apiserver")


def _timeless(condition: Json) -> Object:
    return {key: value for key, value in fields(condition).items() if key != "lastTransitionTime"}
