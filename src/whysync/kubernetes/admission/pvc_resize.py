"""May a claim grow? Mirrors the admission plugin `PersistentVolumeClaimResize`, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

from whysync.golang.quantity import value_or_zero
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden
from whysync.kubernetes.apiserver.storage import Store

_CLASSES: Final = ("storage.k8s.io", "storageclasses")
_NOT_THIS_ONE: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


def check_resize(obj: Object, live: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused`. One that is not bound has been refused before, as it cannot be changed at all.

    Differs: a class that is named and not there (facts may lack it) is taken to support it.
    """
    if (call.resource.group, call.resource.kind) != ("", "PersistentVolumeClaim") or call.address.subresource:
        return
    before, after = (dig(one, "spec", "resources", "requests", "storage") for one in (live, obj))
    if before == after or value_or_zero(text(after)) <= value_or_zero(text(before)):
        return
    name = call.address.name
    kind = text(dig(live, "spec", "storageClassName"))
    known = store.get((_CLASSES, "", kind)) if kind else None
    if not kind or (known is not None and known.get("allowVolumeExpansion") is not True):
        raise forbidden(call.resource.plural, "", name, _NOT_THIS_ONE)
