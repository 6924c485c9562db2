"""Objects of a real cluster, put into the model as they were found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.apiserver.custom_resources import established
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.storage import Store, owners_of, uid_of
from whysync.kubernetes.clock import Clock

_NAMESPACES: Final = ("", "namespaces")


def load(objects: Iterable[Object], store: Store, discovery: Discovery, clock: Clock) -> list[Object]:
    """Definitions go first, so that their kinds are known; what is of no known kind is given back."""
    waiting = sorted(objects, key=lambda obj: obj.get("kind") != "CustomResourceDefinition")
    for obj in waiting:  # before the first of them gets a new one
        for uid in (uid_of(obj), *owners_of(obj)):
            store.give_no_more(uid)
    strangers: list[Object] = []
    owners: set[str] = set()
    for obj in waiting:
        resource = discovery.of_object(obj)
        name = text(dig(obj, "metadata", "name"))
        if resource is None or not name:
            strangers.append(obj)
            continue
        namespace = text(dig(obj, "metadata", "namespace")) if resource.namespaced else ""
        if namespace:
            _ensure_namespace(namespace, store, clock)
        found = _identified(obj, store, clock)
        if resource.kind == "CustomResourceDefinition" and not dig(found, "status", "acceptedNames", "kind"):
            found = established(found, clock.stamp(), [])
        store.put((resource.store, namespace, name), found)
        owners.update(owners_of(found))
    # Not everything of a cluster is collected: an owner that is not here is taken to be alive elsewhere.
    store.elsewhere.update(uid for uid in owners if not store.known_as(uid))
    return strangers


def _identified(obj: Object, store: Store, clock: Clock) -> Object:
    """With an identity and an age, where the source left them out."""
    meta = fields(obj.get("metadata"))
    if meta.get("uid") and meta.get("creationTimestamp"):
        return obj
    known: Object = {
        **meta,
        "uid": meta.get("uid") or store.uid(),
        "creationTimestamp": meta.get("creationTimestamp") or clock.stamp(),
    }
    return {**obj, "metadata": known}


def _ensure_namespace(name: str, store: Store, clock: Clock) -> None:
    place = (_NAMESPACES, "", name)
    if store.get(place) is not None:
        return
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    store.put(place, _identified(namespace, store, clock))
