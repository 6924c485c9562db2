"""Garbage collector, namespace deletion, PVC and PV protection, and custom resource cleanup.

Mirrors the controllers of Kubernetes 1.36 without their delays. Only objects that the store's journal shows
as changed, and those that depend on them, are processed.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.admission.builtin_plugins import namespace_conditions
from whysync.kubernetes.apiserver.deletion import DeleteHandler
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.managed_fields import Writing, after_update, managed_or_empty, with_managed
from whysync.kubernetes.apiserver.request import UrlPath
from whysync.kubernetes.apiserver.storage import Change, ObjectKey, Store, owners_of, uid_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.structured import FieldSet

_MAX_ROUNDS: Final = 100
_CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
_VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
_CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_NAMESPACES: Final = ("", "namespaces")
_PODS: Final = ("", "pods")
_CLAIMS: Final = ("", "persistentvolumeclaims")
_VOLUMES: Final = ("", "persistentvolumes")
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


class GarbageCollection:
    def __init__(self, store: Store, discovery: Discovery, deletes: DeleteHandler, clock: Clock) -> None:
        self._store = store
        self._discovery = discovery
        self._deletes = deletes
        self._clock = clock
        self._journal_position = 0
        self._pods_by_claim: dict[ObjectKey, set[ObjectKey]] = {}
        """The Pods that mount a claim."""

    def settle(self) -> bool:
        """Process changes until there are no more; true if anything was written."""
        start = len(self._store.journal)
        for _ in range(_MAX_ROUNDS):
            affected = self._affected_objects()
            if not affected:
                break
            for object_key in sorted(affected):
                self._process(object_key)
            self.finalize_definitions()
        return len(self._store.journal) > start

    def _affected_objects(self) -> set[ObjectKey]:
        """Objects that changed since the last call, and those that depend on them."""
        journal = self._store.journal
        affected: set[ObjectKey] = set()
        while self._journal_position < len(journal):
            change = journal[self._journal_position]
            self._journal_position += 1
            if change.object_key[0] == _PODS:
                affected.update(self._update_claim_users(change))
            if change.object_key[0] == _CLAIMS and change.type == "DELETED":
                affected.add((_VOLUMES, "", text(dig(change.obj, "spec", "volumeName"))))
            if change.type == "DELETED":
                affected.update(self._store.owned_by(uid_of(change.obj)))
            else:
                affected.add(change.object_key)
            for owner in owners_of(change.obj):
                affected.update(self._store.with_uid(owner))
            space: ObjectKey = (_NAMESPACES, "", change.object_key[1])
            if "deletionTimestamp" in fields((self._store.get(space) or {}).get("metadata")):
                affected.add(space)
        return affected

    def _update_claim_users(self, change: Change) -> list[ObjectKey]:
        """Records which claims the Pod uses; returns the claims that a deleted Pod released."""
        object_key, pod = change.object_key, change.obj
        claims: list[ObjectKey] = [
            (_CLAIMS, object_key[1], text(dig(volume, "persistentVolumeClaim", "claimName")))
            for volume in items(dig(pod, "spec", "volumes"))
            if "persistentVolumeClaim" in fields(volume)
        ]
        for claim in claims:
            users = self._pods_by_claim.setdefault(claim, set())
            if change.type == "DELETED":
                users.discard(object_key)
            else:
                users.add(object_key)
        return claims if change.type == "DELETED" else []

    def _process(self, object_key: ObjectKey) -> None:
        obj = self._store.get(object_key)
        if obj is None:
            return
        meta = fields(obj.get("metadata"))
        if "deletionTimestamp" not in meta:
            if meta.get("ownerReferences"):
                self._attempt_to_delete_item(object_key, obj)
            return
        if object_key[0] == _NAMESPACES:
            self._sync_terminating_namespace(object_key, obj)
            return
        finalizers = items(meta.get("finalizers"))
        if "orphan" in finalizers:
            self._orphan_dependents(object_key, obj)
        elif "foregroundDeletion" in finalizers:
            self._delete_dependents(object_key, obj)
        elif (
            _CLAIM_PROTECTION in finalizers
            and object_key[0] == _CLAIMS
            and not self._pods_by_claim.get(object_key)
        ):
            self._remove_finalizer(object_key, _CLAIM_PROTECTION)
        elif _VOLUME_PROTECTION in finalizers and object_key[0] == _VOLUMES and not self._is_claimed(obj):
            self._remove_finalizer(object_key, _VOLUME_PROTECTION)

    def _is_claimed(self, volume: Object) -> bool:
        claim_ref = fields(dig(volume, "spec", "claimRef"))
        claim = self._store.get((_CLAIMS, text(claim_ref.get("namespace")), text(claim_ref.get("name"))))
        return claim is not None and claim_ref.get("uid") in (None, uid_of(claim))

    # -- owners -----------------------------------------------------------------------------------

    def _attempt_to_delete_item(self, object_key: ObjectKey, obj: Object) -> None:
        references = items(dig(obj, "metadata", "ownerReferences"))
        remaining: list[Json] = [
            reference for reference in references if self._exists(text(fields(reference).get("uid")))
        ]
        if not remaining:
            resource = self._discovery.of_store(object_key[0])
            if resource is not None:
                self._deletes.remove(object_key, resource)
        elif len(remaining) < len(references):
            self._update_metadata(object_key, obj, ownerReferences=remaining)

    def _exists(self, uid: str) -> bool:
        return bool(self._store.with_uid(uid)) or uid in self._store.assumed_uids

    def _orphan_dependents(self, object_key: ObjectKey, obj: Object) -> None:
        uid = uid_of(obj)
        for child in self._store.owned_by(uid):
            dependent = self._store.get(child)
            if dependent is not None:
                self._remove_owner_reference(child, dependent, uid)
        self._remove_finalizer(object_key, "orphan")

    def _delete_dependents(self, object_key: ObjectKey, obj: Object) -> None:
        uid = uid_of(obj)
        dependents = self._store.owned_by(uid)
        for child in dependents:
            dependent, resource = self._store.get(child), self._discovery.of_store(child[0])
            if (
                dependent is not None
                and resource is not None
                and not dig(dependent, "metadata", "deletionTimestamp")
            ):
                self._deletes.remove(child, resource)
        if not any(self._blocks_owner_deletion(child, uid) for child in dependents):
            self._remove_finalizer(object_key, "foregroundDeletion")

    def _blocks_owner_deletion(self, child: ObjectKey, owner: str) -> bool:
        dependent = self._store.get(child)
        references = [] if dependent is None else items(dig(dependent, "metadata", "ownerReferences"))
        return any(
            fields(reference).get("uid") == owner and fields(reference).get("blockOwnerDeletion") is True
            for reference in references
        )

    def _remove_owner_reference(self, object_key: ObjectKey, obj: Object, owner: str) -> None:
        remaining: list[Json] = [
            owner_reference
            for owner_reference in items(dig(obj, "metadata", "ownerReferences"))
            if fields(owner_reference).get("uid") != owner
        ]
        self._update_metadata(object_key, obj, ownerReferences=remaining)

    def _remove_finalizer(self, object_key: ObjectKey, finalizer: str) -> None:
        """Removes a finalizer; the object is deleted if it was the last one."""
        obj = self._store.get(object_key)
        if obj is None:
            return
        remaining: list[Json] = [
            other_finalizer
            for other_finalizer in items(dig(obj, "metadata", "finalizers"))
            if other_finalizer != finalizer
        ]
        if remaining:
            self._update_metadata(object_key, obj, finalizers=remaining)
        else:
            self._store.drop(object_key)

    def _update_metadata(self, object_key: ObjectKey, obj: Object, **parts: list[Json]) -> None:
        meta = dict(fields(obj.get("metadata")))
        for key, value in parts.items():
            if value:
                meta[key] = value
            else:
                meta.pop(key, None)
        self.write(object_key, {**obj, "metadata": meta}, subresource="")

    def write(
        self,
        object_key: ObjectKey,
        new: Object,
        *,
        subresource: str,
        manager: str = "kube-controller-manager",
    ) -> Object:
        """Store a controller's change of an existing object, with its managedFields."""
        old = self._store.get(object_key)
        if old is None:
            return self._store.put(object_key, new)
        version = text(old.get("apiVersion"))
        served = self._discovery.served(UrlPath(version, object_key[0][1]))
        writing = Writing(
            manager=manager,
            subresource=subresource,
            api_version=version,
            now=self._clock.stamp(),
            excluded=FieldSet(),
        )
        managed = managed_or_empty(old)
        if managed.claims:
            new = with_managed(new, after_update(old, new, managed, writing, served.atom))
        return self._store.put(object_key, new)

    # -- namespaces, definitions ------------------------------------------------------------------

    def _sync_terminating_namespace(self, object_key: ObjectKey, namespace: Object) -> None:
        for inner_place in self._store.in_namespace(object_key[2]):
            resource = self._discovery.of_store(inner_place[0])
            inner = self._store.get(inner_place)
            if resource is not None and inner is not None and not dig(inner, "metadata", "deletionTimestamp"):
                self._deletes.remove(inner_place, resource)
        remaining = [
            (inner_place, obj)
            for inner_place in self._store.in_namespace(object_key[2])
            if (obj := self._store.get(inner_place)) is not None
        ]
        has_finalizers = bool(items(dig(namespace, "metadata", "finalizers")))
        if remaining or has_finalizers:
            self._write_namespace_conditions(object_key, namespace, remaining)
        else:
            self._store.drop(object_key)

    def _write_namespace_conditions(
        self, object_key: ObjectKey, namespace: Object, remaining: list[tuple[ObjectKey, Object]]
    ) -> None:
        """Writes the conditions that report what remains in a terminating namespace."""
        status = fields(namespace.get("status"))
        conditions = namespace_conditions(remaining, self._clock.stamp())
        if [_without_transition_time(condition) for condition in items(status.get("conditions"))] == [
            _without_transition_time(condition) for condition in conditions
        ]:
            return
        new: Object = {**namespace, "status": {**status, "conditions": conditions}}
        if not remaining:
            spec = {key: value for key, value in fields(namespace.get("spec")).items() if key != "finalizers"}
            new["spec"] = spec
        self.write(object_key, new, subresource="status")

    def finalize_definitions(self) -> None:
        """Deletes the custom resources of a kind before its CustomResourceDefinition is deleted."""
        for object_key in self._store.terminating(_DEFINITIONS):
            definition = self._store.get(object_key)
            if definition is None:
                continue
            spec = fields(definition.get("spec"))
            store_key = (text(spec.get("group")), text(dig(spec, "names", "plural")))
            resource = self._discovery.of_store(store_key)
            for instance_place, obj in self._store.within(store_key):
                if resource is not None and not dig(obj, "metadata", "deletionTimestamp"):
                    self._deletes.remove(instance_place, resource)
            if any(True for _ in self._store.within(store_key)):
                self._write_deletion_in_progress(object_key, definition)
            else:
                self._remove_finalizer(object_key, _CLEANUP_FINALIZER)

    def _write_deletion_in_progress(self, object_key: ObjectKey, definition: Object) -> None:
        """Writes the condition Terminating while custom resources remain."""
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
            self.write(object_key, new, subresource="status", manager="kube-apiserver")


def _without_transition_time(condition: Json) -> Object:
    return {key: value for key, value in fields(condition).items() if key != "lastTransitionTime"}
