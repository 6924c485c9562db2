"""Metadata that the API server manages itself, and when a terminating object can be deleted."""

from __future__ import annotations

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import bad_request


def before_update(meta: Object, live_meta: Object) -> Object:
    """The metadata of an update with the fields that the server sets. Mirrors `rest.BeforeUpdate`."""
    new = dict(meta)
    new.pop("selfLink", None)
    for key in ("uid", "deletionGracePeriodSeconds"):
        if new.get(key) is None and key in live_meta:
            new[key] = live_meta[key]
    for key in ("generation", "creationTimestamp", "deletionTimestamp", "resourceVersion"):
        if key in live_meta:
            new[key] = live_meta[key]
        elif key != "deletionTimestamp":
            new.pop(key, None)
    return new


def uid_precondition_message(call: RequestContext, required_uid: str, current: str) -> str:
    plural = {"services": "services/specs", "ingresses": "ingress"}.get(
        call.resource.plural, call.resource.plural
    )
    storage_key = "/".join(
        segment for segment in (plural, call.address.namespace, call.address.name) if segment
    )
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{storage_key}, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {required_uid}, UID in object meta: {current}"
    )


def with_status_only(obj: Object, live: Object) -> Object:
    """A write to the `status` subresource changes only the status and some metadata."""
    new = {key: value for key, value in live.items() if key not in {"status", "metadata"}}
    if "status" in obj:
        new["status"] = obj["status"]
    meta = dict(fields(obj.get("metadata")))
    labels = fields(live.get("metadata")).get("labels")
    if labels is None:
        meta.pop("labels", None)
    else:
        meta["labels"] = labels
    return {**new, "metadata": meta}


def is_ready_to_delete(obj: Object, resource: Resource) -> bool:
    """Is the object terminating without finalizers and grace period?"""
    meta = fields(obj.get("metadata"))
    if "deletionTimestamp" not in meta or items(meta.get("finalizers")):
        return False
    if resource.kind == "Namespace" and not resource.group:
        return not items(dig(obj, "spec", "finalizers"))
    return not integer(meta.get("deletionGracePeriodSeconds"))


def equal_except_managed_times(new: Object, old: Object) -> bool:
    """Are the objects equal apart from the times in managedFields? Such a write is not stored."""
    if new == old:
        return True
    return _timeless(new) == _timeless(old)


def _timeless(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    entries: list[Json] = [
        {key: value for key, value in fields(entry).items() if key != "time"}
        for entry in items(meta.get("managedFields"))
    ]
    return {**obj, "metadata": {**meta, "managedFields": entries}}


def require_name(obj: Object, call: RequestContext) -> None:
    name, expected = text(dig(obj, "metadata", "name")), call.address.name
    if not name:
        raise bad_request(
            f"the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        )
    if name != expected:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({expected})")


def check_same_object(obj: Object, live: Object, call: RequestContext) -> None:
    require_name(obj, call)
    space = text(dig(obj, "metadata", "namespace"))
    if space and space != text(dig(live, "metadata", "namespace")):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
