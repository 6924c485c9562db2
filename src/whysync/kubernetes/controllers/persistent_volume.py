"""PersistentVolume controller: binds claims to volumes and provisions volumes for unbound claims.

Mirrors the persistent volume and ephemeral volume controllers of Kubernetes 1.36, with an external
provisioner for every StorageClass.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from whysync.golang.quantity import milli_value
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import (
    CLAIMS,
    PODS,
    Client,
    StatusError,
    annotations_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.controllers.storage import (
    SELECTED_NODE,
    STORAGE_CLASSES,
    VOLUMES,
    default_storage_class,
    ensure_default_class,
    storage_class_name,
)
from whysync.kubernetes.validation.selectors import selects

_COMPONENT: Final = "persistentvolume-controller"
_PROVISIONER_ANNOTATION: Final = "volume.kubernetes.io/storage-provisioner"
_PROTECTION_FINALIZER: Final = "kubernetes.io/pv-protection"
_NO_STORAGE_CLASS_MESSAGE: Final = (
    "no persistent volumes available for this claim and no storage class is set"
)
_LOST_MESSAGE: Final = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"


class PersistentVolumeController(QueueController):
    name = "persistentvolume-binder"
    main = CLAIMS

    def __init__(self, client: Client, behavior: Behavior) -> None:
        super().__init__(client)
        self._behavior = behavior
        self._pending: dict[Key, None] = {}
        self._provisioned_at: dict[Key, datetime] = {}
        self._changed_volumes: dict[str, None] = {}
        """Volumes that were added or changed since the last sync."""
        self._released_volumes: list[str] = []
        """Volumes whose claim was deleted."""
        self._lost_claims: dict[Key, None] = {}
        self._pods_with_ephemeral_volumes: list[Object] = []
        """New pods with generic ephemeral volumes."""
        self._started = False

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({CLAIMS, VOLUMES, STORAGE_CLASSES, PODS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind == PODS:
            if change.type == "ADDED" and any("ephemeral" in fields(raw) for raw in _volumes(change.obj)):
                self._pods_with_ephemeral_volumes.append(change.obj)
        elif kind == CLAIMS:
            self.queue.add((namespace, name))
            if change.type == "DELETED":
                self._released_volumes.append(text(dig(change.obj, "spec", "volumeName")))
        else:
            if kind == VOLUMES and change.type == "DELETED":
                claim = fields(dig(change.obj, "spec", "claimRef"))
                self._lost_claims[text(claim.get("namespace")), text(claim.get("name"))] = None
                self.queue.add((text(claim.get("namespace")), text(claim.get("name"))))
            elif kind == VOLUMES:
                self._changed_volumes[name] = None
            for key in self._pending:
                self.queue.add(key)

    def reconcile(self) -> bool:
        if not self._started:
            self._started = True
            ensure_default_class(self.client)
        worked = bool(self._changed_volumes or self._released_volumes or self._pods_with_ephemeral_volumes)
        pods, self._pods_with_ephemeral_volumes = self._pods_with_ephemeral_volumes, []
        for pod in pods:
            self._create_ephemeral_claims(pod)
        for name in list(self._changed_volumes):
            self._sync_volume(name)
        self._changed_volumes.clear()
        released, self._released_volumes = self._released_volumes, []
        for name in released:
            self._reclaim_volume(name)
        return super().reconcile() or worked

    def forget(self, key: Key) -> None:
        self._pending.pop(key, None)
        self._provisioned_at.pop(key, None)

    # -- claims -----------------------------------------------------------------------------------

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        if dig(obj, "status", "phase") == "Bound":
            self._pending.pop(key, None)
            if key in self._lost_claims:
                del self._lost_claims[key]
                self.client.event(obj, "Warning", "ClaimLost", _LOST_MESSAGE, _COMPONENT)
                self.client.update_status(obj, {"phase": "Lost"})
            return
        if is_terminating(obj) or dig(obj, "status", "phase") == "Lost":
            return
        self._lost_claims.pop(key, None)
        self._pending[key] = None
        volume = self._find_best_match_for_claim(obj)
        if volume is not None:
            self._bind(obj, volume)
        elif not dig(obj, "spec", "volumeName"):
            self._sync_unbound_claim(obj, key)

    def _find_best_match_for_claim(self, claim: Object) -> Object | None:
        """The smallest available volume that matches."""
        volume_name = text(dig(claim, "spec", "volumeName"))
        candidates: list[tuple[int, str, Object]] = []
        for volume in (
            [self.client.get(VOLUMES, "", volume_name)] if volume_name else self.client.list(VOLUMES)
        ):
            if volume is not None and _is_match(volume, claim, by_name=bool(volume_name)):
                candidates.append((milli_value(_capacity(volume)), name_of(volume), volume))
        return min(candidates, key=lambda candidate: candidate[:2])[2] if candidates else None

    def _sync_unbound_claim(self, claim: Object, key: Key) -> None:
        name = storage_class_name(claim)
        storage_class = default_storage_class(self.client) if name is None else None
        if name is None and storage_class is None:
            self.client.event(claim, "Normal", "FailedBinding", _NO_STORAGE_CLASS_MESSAGE, _COMPONENT)
            return
        if name is None and storage_class is not None:
            claim = self._assign_default_storage_class(claim, name_of(storage_class))
        elif name == "":
            self.client.event(claim, "Normal", "FailedBinding", _NO_STORAGE_CLASS_MESSAGE, _COMPONENT)
            return
        else:
            storage_class = self.client.get(STORAGE_CLASSES, "", name or "")
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self.client.event(claim, "Warning", "ProvisioningFailed", message, _COMPONENT)
            return
        wait_for_consumer = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if wait_for_consumer and SELECTED_NODE not in annotations_of(claim):
            message = "waiting for first consumer to be created before binding"
            self.client.event(claim, "Normal", "WaitForFirstConsumer", message, _COMPONENT)
            return
        self._provision_claim(claim, key, storage_class)

    def _assign_default_storage_class(self, claim: Object, name: str) -> Object:
        updated: Object = {**claim, "spec": {**fields(claim.get("spec")), "storageClassName": name}}
        try:
            return self.client.update(updated)
        except StatusError:
            return updated

    def _provision_claim(self, claim: Object, key: Key, storage_class: Object) -> None:
        provisioner = text(storage_class.get("provisioner"))
        if key not in self._provisioned_at:
            self._provisioned_at[key] = self.client.now + timedelta(seconds=self._behavior.volume_seconds)
            annotations: Object = {**annotations_of(claim), _PROVISIONER_ANNOTATION: provisioner}
            annotated: Object = {
                **claim,
                "metadata": {**fields(claim.get("metadata")), "annotations": annotations},
            }
            try:
                claim = self.client.update(annotated)
            except StatusError:
                return
            message = (
                f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or "
                "manually by the system administrator. If volume creation is delayed, please verify that "
                "the provisioner is running and correctly registered."
            )
            self.client.event(claim, "Normal", "ExternalProvisioning", message, _COMPONENT)
        if self._behavior.volumes == "pending" or provisioner == "kubernetes.io/no-provisioner":
            return
        if self._provisioned_at[key] > self.client.now:
            self.enqueue_at(claim, self._provisioned_at[key])
            return
        volume = self._create_volume(claim, storage_class)
        if volume is not None:
            message = f"Successfully provisioned volume {name_of(volume)}"
            self.client.event(claim, "Normal", "ProvisioningSucceeded", message, provisioner)
            self._bind(claim, volume)

    def _create_volume(self, claim: Object, storage_class: Object) -> Object | None:
        name = f"pvc-{uid_of(claim)}"
        requested = fields(dig(claim, "spec", "resources", "requests")).get("storage")
        spec: Object = {
            "capacity": {"storage": requested or "1Gi"},
            "accessModes": items(dig(claim, "spec", "accessModes")),
            "persistentVolumeReclaimPolicy": text(storage_class.get("reclaimPolicy"), "Delete"),
            "storageClassName": name_of(storage_class),
            "volumeMode": text(dig(claim, "spec", "volumeMode"), "Filesystem"),
            "claimRef": _reference(claim),
            "csi": {"driver": text(storage_class.get("provisioner")), "volumeHandle": name},
        }
        annotations: Object = {"pv.kubernetes.io/provisioned-by": text(storage_class.get("provisioner"))}
        volume: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": annotations},
            "spec": spec,
        }
        existing = self.client.get(VOLUMES, "", name)
        if existing is not None:
            return existing
        try:
            return self.client.create(volume)
        except StatusError as error:
            message = (
                f'failed to provision volume with StorageClass "{name_of(storage_class)}": {error.message}'
            )
            self.client.event(
                claim, "Warning", "ProvisioningFailed", message, text(storage_class.get("provisioner"))
            )
            return None

    def _bind(self, claim: Object, volume: Object) -> None:
        if not fields(dig(volume, "spec", "claimRef")):
            spec: Object = {**fields(volume.get("spec")), "claimRef": _reference(claim)}
            volume = self._update_unchecked({**volume, "spec": spec})
        self.client.update_status(volume, {**fields(volume.get("status")), "phase": "Bound"})
        annotations: Object = {
            **annotations_of(claim),
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
        }
        meta: Object = {**fields(claim.get("metadata")), "annotations": annotations}
        spec = {**fields(claim.get("spec")), "volumeName": name_of(volume)}
        updated = self._update_unchecked({**claim, "metadata": meta, "spec": spec})
        status: Object = {
            "phase": "Bound",
            "accessModes": items(dig(volume, "spec", "accessModes")),
            "capacity": fields(dig(volume, "spec", "capacity")),
        }
        self.client.update_status(updated, status)

    def _update_unchecked(self, obj: Object) -> Object:
        """Updates the object; if the API server rejects it, writes to the store directly."""
        try:
            return self.client.update(obj)
        except StatusError:
            return self.client.api_server.store.put(self.client.object_key(obj), obj)

    # -- volumes ----------------------------------------------------------------------------------

    def _sync_volume(self, name: str) -> None:
        volume = self.client.get(VOLUMES, "", name)
        phase = text(dig(volume, "status", "phase"))
        if volume is not None and is_terminating(volume):
            self._remove_protection(volume)
        elif volume is not None and phase in ("", "Pending") and not fields(dig(volume, "spec", "claimRef")):
            self.client.update_status(volume, {**fields(volume.get("status")), "phase": "Available"})

    def _remove_protection(self, volume: Object) -> None:
        """Removes the finalizer of a terminating volume once its claim is deleted."""
        claim_ref = fields(dig(volume, "spec", "claimRef"))
        claim = self.client.get(CLAIMS, text(claim_ref.get("namespace")), text(claim_ref.get("name")))
        finalizers = items(dig(volume, "metadata", "finalizers"))
        if _PROTECTION_FINALIZER in finalizers and (claim is None or uid_of(claim) != claim_ref.get("uid")):
            remaining: list[Json] = [
                finalizer for finalizer in finalizers if finalizer != _PROTECTION_FINALIZER
            ]
            self._update_unchecked(
                {**volume, "metadata": {**fields(volume.get("metadata")), "finalizers": remaining}}
            )

    def _reclaim_volume(self, name: str) -> None:
        volume = self.client.get(VOLUMES, "", name) if name else None
        if volume is None or is_terminating(volume):
            return
        if dig(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete":
            try:
                self.client.delete(volume)
            except StatusError:
                return
        else:
            self.client.update_status(volume, {**fields(volume.get("status")), "phase": "Released"})

    def _create_ephemeral_claims(self, pod: Object) -> None:
        """Creates the claims of generic ephemeral volumes, as the ephemeral volume controller."""
        for raw in _volumes(pod):
            template = fields(dig(raw, "ephemeral", "volumeClaimTemplate"))
            name = f"{name_of(pod)}-{text(fields(raw).get('name'))}"
            if not template or self.client.get(CLAIMS, namespace_of(pod), name) is not None:
                continue
            meta: Object = {
                **fields(template.get("metadata")),
                "name": name,
                "namespace": namespace_of(pod),
                "ownerReferences": [owner_reference(pod)],
            }
            claim: Object = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": meta,
                "spec": fields(template.get("spec")),
            }
            try:
                self.client.create(claim)
            except StatusError:
                continue


def _volumes(pod: Object) -> list[Json]:
    return items(fields(pod.get("spec")).get("volumes"))


def _capacity(volume: Object) -> Json:
    return fields(dig(volume, "spec", "capacity")).get("storage")


def _is_match(volume: Object, claim: Object, *, by_name: bool) -> bool:
    spec, claim_spec = fields(volume.get("spec")), fields(claim.get("spec"))
    claim_ref = fields(spec.get("claimRef"))
    if is_terminating(volume):
        return False
    if claim_ref:
        is_reserved = (claim_ref.get("namespace"), claim_ref.get("name")) == (
            namespace_of(claim),
            name_of(claim),
        )
        return is_reserved and claim_ref.get("uid") in (None, "", uid_of(claim))
    if not by_name:
        if text(spec.get("storageClassName")) != (storage_class_name(claim) or ""):
            return False
        if not selects(claim_spec.get("selector"), labels_of(volume)):
            return False
    modes = items(spec.get("accessModes"))
    large_enough = milli_value(_capacity(volume)) >= milli_value(
        fields(dig(claim_spec, "resources", "requests")).get("storage")
    )
    return large_enough and all(mode in modes for mode in items(claim_spec.get("accessModes")))


def _reference(claim: Object) -> Object:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": text(dig(claim, "metadata", "resourceVersion")),
    }
