"""StatefulPodControl: creates, updates and deletes pods and claims of a StatefulSet, with their events.

Mirrors `stateful_pod_control.go`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import (
    CLAIMS,
    Client,
    StatusError,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import parse_unsigned
from whysync.kubernetes.controllers.controller_revisions import REVISION_HASH
from whysync.kubernetes.controllers.pod_control import pod_from_template

_COMPONENT: Final = "statefulset-controller"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def ordinal_of(obj: Object, pod: Object) -> int:
    """The ordinal of a pod of this StatefulSet; -1 if the name does not belong to it."""
    parent, _, suffix = name_of(pod).rpartition("-")
    ordinal = parse_unsigned(suffix) if parent == name_of(obj) else None
    return -1 if ordinal is None else ordinal


class StatefulPodControl:
    def __init__(self, client: Client, obj: Object) -> None:
        self._client = client
        self._obj = obj

    def new_pod(self, ordinal: int, template: Object, revision: str) -> Object:
        """A pod that is not created yet; it has no phase."""
        obj = self._obj
        pod = pod_from_template(template, obj)
        meta = fields(pod.get("metadata"))
        name = f"{name_of(obj)}-{ordinal}"
        labels: Object = {
            **fields(meta.get("labels")),
            _POD_NAME: name,
            _POD_INDEX: str(ordinal),
            REVISION_HASH: revision,
        }
        spec: Object = {**fields(pod.get("spec")), "hostname": name}
        if service := text(dig(obj, "spec", "serviceName")):
            spec["subdomain"] = service
        volumes = self._volumes(ordinal, items(spec.get("volumes")))
        if volumes:
            spec["volumes"] = volumes
        pod_meta: Object = {**meta, "name": name, "labels": labels}
        return {**pod, "metadata": pod_meta, "spec": spec}

    def _claim_templates(self) -> list[Object]:
        return [
            fields(volume_claim_template)
            for volume_claim_template in items(dig(self._obj, "spec", "volumeClaimTemplates"))
        ]

    def _claim_name(self, template: Object, ordinal: int) -> str:
        return f"{name_of(template)}-{name_of(self._obj)}-{ordinal}"

    def _volumes(self, ordinal: int, pod_volumes: list[Json]) -> list[Json]:
        claim_volumes: list[Json] = [
            {
                "name": name_of(template),
                "persistentVolumeClaim": {"claimName": self._claim_name(template, ordinal)},
            }
            for template in self._claim_templates()
        ]
        names = {name_of(template) for template in self._claim_templates()}
        return [
            *claim_volumes,
            *(volume for volume in pod_volumes if fields(volume).get("name") not in names),
        ]

    # -- pods -------------------------------------------------------------------------------------

    def create(self, pod: Object) -> bool:
        if not self.create_claims(pod):
            return False
        try:
            created = self._client.create(pod)
        except StatusError as error:
            if error.code == 409 or error.is_namespace_terminating:
                return error.code != 409
            self._record_pod_event("Create", pod, error.message)
            return False
        self._record_pod_event("Create", pod, None)
        self.update_claim_owner_refs(created, scaled_down=False)
        return True

    def delete(self, pod: Object) -> bool:
        try:
            self._client.delete(pod)
        except StatusError as error:
            if error.code != 404:
                self._record_pod_event("Delete", pod, error.message)
                return False
        self._record_pod_event("Delete", pod, None)
        return True

    def update_pod(self, pod: Object) -> Object:
        """Updates the identity labels of the pod and the owner references of its claims."""
        self.update_claim_owner_refs(pod, scaled_down=False)
        if labels_of(pod).get(_POD_NAME) == name_of(pod):
            return pod
        ordinal = ordinal_of(self._obj, pod)
        labels: Object = {**labels_of(pod), _POD_NAME: name_of(pod), _POD_INDEX: str(ordinal)}
        meta: Object = {**fields(pod.get("metadata")), "labels": labels}
        try:
            updated = self._client.update({**pod, "metadata": meta})
        except StatusError as error:
            self._record_pod_event("Update", pod, error.message)
            return pod
        self._record_pod_event("Update", pod, None)
        return updated

    def _record_pod_event(self, verb: str, pod: Object, error: str | None) -> None:
        action = f"{verb} Pod {name_of(pod)} in StatefulSet {name_of(self._obj)}"
        if error is None:
            self._event("Normal", f"Successful{verb}", f"{action} successful")
        else:
            self._event("Warning", f"Failed{verb}", f"{action} failed error: {error}")

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)

    # -- claims -----------------------------------------------------------------------------------

    def create_claims(self, pod: Object) -> bool:
        ordinal = ordinal_of(self._obj, pod)
        succeeded = True
        for template in self._claim_templates():
            name = self._claim_name(template, ordinal)
            existing = self._client.get(CLAIMS, namespace_of(self._obj), name)
            if existing is not None:
                if is_terminating(existing):
                    succeeded = False
                    self._record_pod_event("Create", pod, f"pvc {name} is being deleted")
                continue
            error = self._create_claim(template, name)
            message = f"Create Claim {name} Pod {name_of(pod)} in StatefulSet {name_of(self._obj)} success"
            if error is None:
                self._event("Normal", "SuccessfulCreate", message)
                continue
            succeeded = False
            message = f"Create Claim {name} for Pod {name_of(pod)} in StatefulSet {name_of(self._obj)}"
            self._event("Warning", "FailedCreate", f"{message} failed error: {error}")
            self._record_pod_event("Create", pod, f"failed to create PVC {name}: {error}")
        return succeeded

    def _create_claim(self, template: Object, name: str) -> str | None:
        meta = fields(template.get("metadata"))
        labels: Object = {
            **fields(meta.get("labels")),
            **fields(dig(self._obj, "spec", "selector", "matchLabels")),
        }
        claim_meta: Object = {**meta, "name": name, "namespace": namespace_of(self._obj), "labels": labels}
        claim: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": claim_meta,
            "spec": template.get("spec"),
        }
        try:
            self._client.create(claim)
        except StatusError as error:
            return error.message
        return None

    def is_claim_stale(self, pod: Object) -> bool:
        """Is a claim still owned by a former pod of that name? It will be deleted with that pod."""
        if self._retention_policy("whenScaled") == "Retain":
            return False
        ordinal = ordinal_of(self._obj, pod)
        for template in self._claim_templates():
            claim = self._client.get(CLAIMS, namespace_of(self._obj), self._claim_name(template, ordinal))
            for raw in items(dig(claim, "metadata", "ownerReferences")) if claim else ():
                reference = fields(raw)
                if reference.get("kind") == "Pod" and reference.get("name") == name_of(pod):
                    return True
        return False

    def _retention_policy(self, field: str) -> str:
        return text(dig(self._obj, "spec", "persistentVolumeClaimRetentionPolicy", field), "Retain")

    def update_claim_owner_refs(self, pod: Object, *, scaled_down: bool) -> None:
        """Mirrors `updateClaimOwnerRefForSetAndPod`: applies persistentVolumeClaimRetentionPolicy."""
        if not self._claim_templates():
            return
        delete_with_set, delete_on_scale_down = (
            self._retention_policy("whenDeleted") == "Delete",
            self._retention_policy("whenScaled") == "Delete",
        )
        owner: Object | None = None
        if delete_on_scale_down and scaled_down:
            owner = {**pod, "apiVersion": "v1", "kind": "Pod"}
        elif delete_with_set:
            owner = self._obj
        ordinal = ordinal_of(self._obj, pod)
        for template in self._claim_templates():
            claim = self._client.get(CLAIMS, namespace_of(self._obj), self._claim_name(template, ordinal))
            if claim is not None:
                self._set_owner(claim, owner, {uid_of(self._obj), uid_of(pod)})

    def _set_owner(self, claim: Object, owner: Object | None, managed_uids: set[str]) -> None:
        meta = dict(fields(claim.get("metadata")))
        old_references = items(meta.get("ownerReferences"))
        references: list[Json] = [
            reference
            for reference in old_references
            if text(fields(reference).get("uid")) not in managed_uids
        ]
        if owner is not None:
            references.append(owner_reference(owner))
        if references == old_references:
            return
        if references:
            meta["ownerReferences"] = references
        else:
            meta.pop("ownerReferences", None)
        self._client.update({**claim, "metadata": meta})
