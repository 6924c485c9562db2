"""What controllers do after a deletion: owned objects, namespaces, claims in use, definitions.

Mirrors the garbage collector, the namespace controller, the claim protection and the cleanup of custom
resources, Kubernetes 1.36, without their delays: everything that can settle settles at once.
"""

from __future__ import annotations

from typing import Final

from whysync.cluster.model.clock import Clock
from whysync.cluster.model.discovery import Discovery
from whysync.cluster.model.fields import Writing, after_update, read_managed, with_managed
from whysync.cluster.model.kinds import Resource
from whysync.cluster.model.namespaces import namespace_conditions
from whysync.cluster.model.paths import Address
from whysync.cluster.model.removal import Removal
from whysync.cluster.model.store import Place, Store, uid_of
from whysync.contracts.tree import Json, Object, dig, fields, items, text
from whysync.semantics.diff.typed import FieldSet

_MOST_ROUNDS: Final = 100
_CLAIM_IN_USE: Final = "kubernetes.io/pvc-protection"
_CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
_NAMESPACES: Final = ("", "namespaces")
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


class Housekeeping:
    def __init__(self, store: Store, discovery: Discovery, removal: Removal, clock: Clock) -> None:
        self._store = store
        self._discovery = discovery
        self._removal = removal
        self._clock = clock

    def settle(self) -> None:
        """Until nothing moves any more."""
        for _ in range(_MOST_ROUNDS):
            before = self._state()
            self._collect_garbage()
            self._release_claims()
            self._end_namespaces()
            self.end_definitions()
            if self._state() == before:
                return

    def _state(self) -> tuple[str, int]:
        return self._store.revision, len(self._store.everything())

    def _resource(self, place: Place) -> Resource | None:
        for resource in self._discovery.kinds():
            if resource.store == place[0]:
                return resource
        return None

    # -- owners -----------------------------------------------------------------------------------

    def _collect_garbage(self) -> None:
        everything = self._store.everything()
        alive = {uid_of(obj) for _, obj in everything}
        owned: dict[str, list[tuple[Place, Object]]] = {}
        for place, obj in everything:
            for reference in items(dig(obj, "metadata", "ownerReferences")):
                owned.setdefault(text(fields(reference).get("uid")), []).append((place, obj))
        for place, obj in everything:
            if self._store.get(place) is not obj:
                continue
            self._mind_owners(place, obj, alive)
            self._mind_dependents(place, obj, owned.get(uid_of(obj), []))

    def _mind_owners(self, place: Place, obj: Object, alive: set[str]) -> None:
        references = items(dig(obj, "metadata", "ownerReferences"))
        if not references or dig(obj, "metadata", "deletionTimestamp"):
            return
        kept: list[Json] = [one for one in references if text(fields(one).get("uid")) in alive]
        if not kept:
            resource = self._resource(place)
            if resource is not None:
                self._removal.remove(place, resource)
        elif len(kept) < len(references):
            self._change(place, obj, ownerReferences=kept)

    def _mind_dependents(self, place: Place, obj: Object, dependents: list[tuple[Place, Object]]) -> None:
        finalizers = items(dig(obj, "metadata", "finalizers"))
        if not dig(obj, "metadata", "deletionTimestamp"):
            return
        if "orphan" in finalizers:
            for child, _ in dependents:
                found = self._store.get(child)
                if found is not None:
                    self._disown(child, found, uid_of(obj))
            self._finish(place, "orphan")
        elif "foregroundDeletion" in finalizers:
            for child, found in dependents:
                resource = self._resource(child)
                if resource is not None and not dig(found, "metadata", "deletionTimestamp"):
                    self._removal.remove(child, resource)
            if not any(self._blocks(child, uid_of(obj)) for child, _ in dependents):
                self._finish(place, "foregroundDeletion")

    def _blocks(self, child: Place, owner: str) -> bool:
        found = self._store.get(child)
        references = [] if found is None else items(dig(found, "metadata", "ownerReferences"))
        return any(
            fields(one).get("uid") == owner and fields(one).get("blockOwnerDeletion") is True
            for one in references
        )

    def _disown(self, place: Place, obj: Object, owner: str) -> None:
        kept: list[Json] = [
            one for one in items(dig(obj, "metadata", "ownerReferences")) if fields(one).get("uid") != owner
        ]
        self._change(place, obj, ownerReferences=kept)

    def _finish(self, place: Place, finalizer: str) -> None:
        """Take a finalizer off; the object goes when it was the last."""
        obj = self._store.get(place)
        if obj is None:
            return
        kept: list[Json] = [one for one in items(dig(obj, "metadata", "finalizers")) if one != finalizer]
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
        self._keep(place, obj, {**obj, "metadata": meta}, subresource="")

    def _keep(
        self,
        place: Place,
        old: Object,
        new: Object,
        *,
        subresource: str,
        manager: str = "kube-controller-manager",
    ) -> None:
        """Store a controller's change, and who owns its fields."""
        version = text(old.get("apiVersion"))
        served = self._discovery.served(Address(version, place[0][1]))
        writing = Writing(
            manager=manager,
            subresource=subresource,
            api_version=version,
            now=self._clock.stamp(),
            excluded=FieldSet(),
        )
        managed = read_managed(old)
        if managed.claims:
            new = with_managed(new, after_update(old, new, managed, writing, served.atom))
        self._store.put(place, new)

    # -- claims, namespaces, definitions ----------------------------------------------------------

    def _release_claims(self) -> None:
        used = {
            (place[1], text(dig(volume, "persistentVolumeClaim", "claimName")))
            for place, pod in self._store.within(("", "pods"))
            for volume in items(dig(pod, "spec", "volumes"))
        }
        for place, claim in list(self._store.within(("", "persistentvolumeclaims"))):
            leaving = dig(claim, "metadata", "deletionTimestamp")
            held = _CLAIM_IN_USE in items(dig(claim, "metadata", "finalizers"))
            if leaving and held and (place[1], place[2]) not in used:
                self._finish(place, _CLAIM_IN_USE)

    def _end_namespaces(self) -> None:
        for place, namespace in list(self._store.within(_NAMESPACES)):
            if not dig(namespace, "metadata", "deletionTimestamp"):
                continue
            inside = [found for found, _ in self._store.everything() if found[1] == place[2]]
            for found in inside:
                resource = self._resource(found)
                if resource is not None:
                    self._removal.remove(found, resource)
            left = [(found, obj) for found, obj in self._store.everything() if found[1] == place[2]]
            held = bool(items(dig(namespace, "metadata", "finalizers")))
            if left or held:
                self._tell(place, namespace, left)
            else:
                self._store.drop(place)

    def _tell(self, place: Place, namespace: Object, left: list[tuple[Place, Object]]) -> None:
        """What holds a namespace that is to go, in its conditions."""
        status = fields(namespace.get("status"))
        conditions = namespace_conditions(left, self._clock.stamp())
        if [_timeless(one) for one in items(status.get("conditions"))] == [
            _timeless(one) for one in conditions
        ]:
            return
        new: Object = {**namespace, "status": {**status, "conditions": conditions}}
        if not left:
            spec = {key: value for key, value in fields(namespace.get("spec")).items() if key != "finalizers"}
            new["spec"] = spec
        self._keep(place, namespace, new, subresource="status")

    def end_definitions(self) -> None:
        """The API server itself deletes the objects of a kind before its definition goes."""
        for place, definition in list(self._store.within(_DEFINITIONS)):
            if not dig(definition, "metadata", "deletionTimestamp"):
                continue
            spec = fields(definition.get("spec"))
            where = (text(spec.get("group")), text(dig(spec, "names", "plural")))
            resource = next((one for one in self._discovery.kinds() if one.store == where), None)
            for found, obj in list(self._store.within(where)):
                if resource is not None and not dig(obj, "metadata", "deletionTimestamp"):
                    self._removal.remove(found, resource)
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
            {**fields(one), **progress} if fields(one).get("type") == "Terminating" else one
            for one in items(status.get("conditions"))
        ]
        if conditions != items(status.get("conditions")):
            new: Object = {**definition, "status": {**status, "conditions": conditions}}
            self._keep(place, definition, new, subresource="status", manager="kube-apiserver")


def _timeless(condition: Json) -> Object:
    return {key: value for key, value in fields(condition).items() if key != "lastTransitionTime"}
