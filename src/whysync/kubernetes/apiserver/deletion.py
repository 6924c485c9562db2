"""Handler of `delete`: options, preconditions, grace period, finalizers, propagation.

Mirrors the generic registry's `Delete` and `BeforeDelete`, Kubernetes 1.36. Dependents and the content of a
namespace are deleted by controllers, see `garbage_collection`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.admission.policies import check_policies
from whysync.kubernetes.admission.webhooks import Webhook, check_webhooks, mutated
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.get_and_list import as_served
from whysync.kubernetes.apiserver.request import Reply, RequestContext
from whysync.kubernetes.apiserver.status_errors import Cause, bad_request, conflict, forbidden, invalid
from whysync.kubernetes.apiserver.storage import ObjectKey, Store
from whysync.kubernetes.clock import Clock

_RETURNS_OBJECT: Final = frozenset(
    {
        "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "Service",
        "ServiceAccount",
    }
)  # fmt: skip
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_DELETION_PENDING: Final = "marked for deletion; CustomResource deletion will begin soon"
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PROTECTED_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public"})


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    policy: str
    grace: int | None
    uid: str
    version: str
    dry_run: bool


class DeleteHandler:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.webhooks: dict[str, Webhook] = {}

    def delete(self, call: RequestContext) -> Reply:
        options = delete_options(call)
        live = self._store.get(call.object_key)
        if live is None:
            raise call.missing()
        resource = call.resource
        if resource.kind == "Namespace" and call.address.name in _PROTECTED_NAMESPACES:
            raise forbidden("namespaces", "", call.address.name, "this namespace may not be deleted")
        _check_preconditions(live, options, resource)
        mutated(live, call, "DELETE", self._store, self.webhooks)
        check_policies(live, None, call, "DELETE", self._store)
        check_webhooks(live, None, call, "DELETE", self._store, self.webhooks)
        if resource.kind == "Namespace" and not resource.group:
            new = self._mark_namespace_for_deletion(live)
        elif resource.kind == "CustomResourceDefinition":
            new = self._mark_definition_for_deletion(live)
        else:
            new = self._mark_for_deletion(live, options, resource)
        if new is None:
            if not options.dry_run:
                self._store.drop(call.object_key)
            deleted = as_served(self._deleted_object(live, resource), call)
            deleted = deleted if options.dry_run else self._store.with_next_revision(deleted)
            return Reply(200, deleted if resource.kind in _RETURNS_OBJECT else deleted_status(live, resource))
        if not options.dry_run and new != live:
            new = self._store.put(call.object_key, new)
        return Reply(200, as_served(new, call))

    def remove(self, object_key: ObjectKey, resource: Resource, *, policy: str = "Background") -> None:
        """Deletes an object for a controller, without admission."""
        live = self._store.get(object_key)
        if live is None:
            return
        options = DeleteOptions(policy=policy, grace=None, uid="", version="", dry_run=False)
        if resource.kind == "Namespace" and not resource.group:
            new = self._mark_namespace_for_deletion(live)
        else:
            new = self._mark_for_deletion(live, options, resource)
        if new is None:
            self._store.drop(object_key)
        elif new != live:
            self._store.put(object_key, new)

    def _mark_for_deletion(self, live: Object, options: DeleteOptions, resource: Resource) -> Object | None:
        """The terminating object; `None` if it can be deleted at once."""
        meta = fields(live.get("metadata"))
        finalizers = _finalizers(live, options, resource)
        grace = _grace(live, options, resource)
        deleting = "deletionTimestamp" in meta
        if not grace and not finalizers:
            return None
        if deleting and grace >= integer(meta.get("deletionGracePeriodSeconds")):
            return _with_meta(live, {**meta, "finalizers": list(finalizers)} if finalizers else meta)
        changed: Object = {
            **meta,
            "deletionTimestamp": self._stamp(grace),
            "deletionGracePeriodSeconds": grace,
        }
        if finalizers:
            changed["finalizers"] = list(finalizers)
        if "generation" in meta and not deleting:
            changed["generation"] = integer(meta["generation"]) + 1
        return _with_meta(live, changed)

    def _deleted_object(self, live: Object, resource: Resource) -> Object:
        """A Pod that is deleted at once is returned with a grace period of 0."""
        if resource.kind != "Pod":
            return live
        meta = fields(live.get("metadata"))
        new_meta: Object = {
            **meta,
            "deletionTimestamp": meta.get("deletionTimestamp") or self._stamp(0),
            "deletionGracePeriodSeconds": 0,
        }
        if "deletionTimestamp" not in meta:
            new_meta["generation"] = integer(meta.get("generation")) + 1
        return _with_meta(live, new_meta)

    def _stamp(self, seconds: int) -> str:
        later = Clock(self._clock.now)
        later.advance(seconds)
        return later.stamp()

    def _mark_namespace_for_deletion(self, live: Object) -> Object:
        meta = fields(live.get("metadata"))
        if "deletionTimestamp" in meta:
            return live
        status: Object = {**fields(live.get("status")), "phase": "Terminating"}
        return {**_with_meta(live, {**meta, "deletionTimestamp": self._stamp(0)}), "status": status}

    def _mark_definition_for_deletion(self, live: Object) -> Object:
        meta = fields(live.get("metadata"))
        if "deletionTimestamp" in meta:
            return live
        finalizers = [
            finalizer for finalizer in items(meta.get("finalizers")) if finalizer != _CLEANUP_FINALIZER
        ]
        changed: Object = {
            **meta,
            "deletionTimestamp": self._stamp(0),
            "finalizers": [*finalizers, _CLEANUP_FINALIZER],
        }
        ending: Object = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": self._stamp(0),
            "reason": "InstanceDeletionPending",
            "message": f"CustomResourceDefinition {_DELETION_PENDING}",
        }
        status: Object = {**fields(live.get("status"))}
        status["conditions"] = [*items(status.get("conditions")), ending]
        return {**_with_meta(live, changed), "status": status}


def delete_options(call: RequestContext) -> DeleteOptions:
    body = fields(call.request.body)
    kind = text(body.get("kind"), "DeleteOptions")
    if kind != "DeleteOptions":
        raise bad_request(
            f'no kind "{kind}" is registered for version "{text(body.get("apiVersion"))}" in scheme '
            '"pkg/apis/meta/internalversion/scheme/register.go:27"'
        )
    policy = text(body.get("propagationPolicy"))
    causes: list[Cause] = []
    legacy = body.get("orphanDependents")
    if policy and legacy is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(Cause("propagationPolicy", f'Invalid value: "{policy}": {why}'))
    elif policy and policy not in _POLICIES:
        supported = ", ".join(f'"{policy_name}"' for policy_name in (*_POLICIES, "nil"))
        causes.append(
            Cause("propagationPolicy", f'Unsupported value: "{policy}": supported values: {supported}')
        )
    dry_run = items(body.get("dryRun"))
    if dry_run and dry_run != ["All"]:
        dry_run_values = ", ".join(f'"{dry_run_value}"' for dry_run_value in dry_run)
        causes.append(Cause("dryRun", f'Unsupported value: [{dry_run_values}]: supported values: "All"'))
    if causes:
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    if isinstance(legacy, bool):
        policy = "Orphan" if legacy else "Background"
    grace_period = body.get("gracePeriodSeconds")
    if isinstance(grace_period, str):
        field = "DeleteOptions.gracePeriodSeconds of type int64"
        raise bad_request(f"json: cannot unmarshal string into Go struct field {field}")
    grace = integer(grace_period) if isinstance(grace_period, (int, float)) else call.request.grace
    needs = fields(body.get("preconditions"))
    return DeleteOptions(
        policy=policy,
        grace=grace,
        uid=text(needs.get("uid")),
        version=text(needs.get("resourceVersion")),
        dry_run=call.request.dry_run or bool(dry_run),
    )


def _check_preconditions(live: Object, options: DeleteOptions, resource: Resource) -> None:
    meta = fields(live.get("metadata"))
    name = text(meta.get("name"))
    checks = (
        (options.uid, "uid", "UID", "deleted and then recreated"),
        (options.version, "resourceVersion", "ResourceVersion", "modified"),
    )
    for required, key, title, perhaps in checks:
        current = text(meta.get(key))
        if required and required != current:
            why = (
                f"the {title} in the precondition ({required}) does not match the {title} in record "
                f"({current}). The object might have been {perhaps}"
            )
            raise conflict(resource.kind, resource.group, name, why)


def _finalizers(live: Object, options: DeleteOptions, resource: Resource) -> tuple[Json, ...]:
    """The finalizers of the object, and the one that the propagation policy adds."""
    others = [
        finalizer
        for finalizer in items(dig(live, "metadata", "finalizers"))
        if finalizer not in (_ORPHAN, _FOREGROUND)
    ]
    current = items(dig(live, "metadata", "finalizers"))
    policy = options.policy
    if not policy:
        if _ORPHAN in current:
            policy = "Orphan"
        elif _FOREGROUND in current:
            policy = "Foreground"
        elif resource.kind == "Job" and resource.group == "batch":
            policy = "Orphan"
    if policy == "Orphan":
        return (*others, _ORPHAN)
    if policy == "Foreground":
        return (*others, _FOREGROUND)
    return tuple(others)


def _grace(live: Object, options: DeleteOptions, resource: Resource) -> int:
    """The grace period in seconds; 0 except for Pods on a node."""
    if resource.kind != "Pod" or resource.group:
        return 0
    if not dig(live, "spec", "nodeName") or dig(live, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    grace = options.grace
    if grace is None:
        grace = integer(dig(live, "spec", "terminationGracePeriodSeconds"), 30)
        if "deletionTimestamp" in fields(live.get("metadata")):
            grace = integer(dig(live, "metadata", "deletionGracePeriodSeconds"))
    return 1 if grace < 0 else grace


def _with_meta(obj: Object, meta: Object) -> Object:
    new: Object = {**obj, "metadata": meta}
    return new


def deleted_status(live: Object, resource: Resource) -> Object:
    meta = fields(live.get("metadata"))
    details: Object = {"name": text(meta.get("name"))}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    details["uid"] = text(meta.get("uid"))
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
