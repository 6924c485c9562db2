"""The live objects of a comparison. Mirrors `GetManagedLiveObjs`, Argo CD 3.6.

These are the objects with the app's tracking metadata and without owner references, and for each object in
Git the live object of the same key, regardless of its tracking metadata. An object to which a controller
copied the tracking metadata has an owner, so it is not extra.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from whysync.argocd.settings import Settings
from whysync.argocd.tracking import owner_of
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, ref_of


class LiveStateProblem(Exception):
    """The live state cannot be read; becomes a ComparisonError `Failed to load live state: …`."""


class LiveState(Protocol):
    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        """The live objects of the app with this instance name, and of these targets, by their keys."""
        ...


class LiveIndex:
    """All live objects of one cluster, indexed for several apps."""

    def __init__(self, objects: Iterable[Manifest], settings: Settings) -> None:
        self._by_key: dict[Key, Manifest] = {}
        self._by_owner: defaultdict[str, dict[Key, Manifest]] = defaultdict(dict)
        for manifest in objects:
            key = manifest.key
            self._by_key[key] = manifest
            owner = owner_of(
                manifest.body,
                method=settings.tracking_method,
                label_key=settings.instance_label_key,
                installation_id=settings.installation_id,
            )
            if owner and not manifest.meta.get("ownerReferences"):
                self._by_owner[owner][key] = manifest

    def __contains__(self, key: Key) -> bool:
        return key in self._by_key

    def get(self, key: Key) -> Object | None:
        live = self._by_key.get(key)
        return live.body if live is not None else None

    @property
    def has_marks(self) -> bool:
        """Does any object have tracking metadata? Handwritten bundles may lack it."""
        return bool(self._by_owner)

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        owned = self._by_owner.get(instance, {})
        managed = {key: manifest.body for key, manifest in owned.items()}
        for target in targets:
            key = ref_of(target).key
            live = self.get(key) or self._without_namespace(key)
            if live is not None:
                managed[key] = in_version(live, target)
        return managed

    def _without_namespace(self, key: Key) -> Object | None:
        """A handwritten object may lack its namespace; then it is used with the namespace of the key."""
        live = self.get(key._replace(namespace="")) if key.namespace else None
        if live is None:
            return None
        return {**live, "metadata": {**fields(live.get("metadata")), "namespace": key.namespace}}


def in_version(live: Object, target: Object) -> Object:
    """The live object in the API version of the target.

    Differs: upstream converts the object, or reads it from the server; here only `apiVersion` is replaced,
    which is the same if the versions have the same schema.
    """
    api_version = target.get("apiVersion")
    return live if live.get("apiVersion") == api_version else {**live, "apiVersion": api_version}
