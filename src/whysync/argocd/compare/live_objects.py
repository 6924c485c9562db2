"""Which live objects a comparison looks at. Mirrors `GetManagedLiveObjs`, Argo CD 3.6.

Those that are marked as the app's own and that no other object owns, and for each object of Git the live one
of the same name, whoever's it is. An object that a controller made, and copied the mark to, has an owner:
it is never extra.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from whysync.argocd.settings import Settings
from whysync.argocd.tracking import owner_of
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key, ref_of


class LiveStateProblem(Exception):
    """The cluster does not answer: becomes a ComparisonError behind `Failed to load live state: `."""


class LiveState(Protocol):
    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        """The live objects of the app with this instance name, and of these targets, by their keys."""
        ...


class LiveIndex:
    """All that is live in one cluster, indexed once for any number of apps."""

    def __init__(self, objects: Iterable[Object], settings: Settings) -> None:
        self._by_key: dict[Key, Object] = {}
        self._by_owner: defaultdict[str, dict[Key, Object]] = defaultdict(dict)
        for body in objects:
            key = ref_of(body).key
            self._by_key[key] = body
            owner = owner_of(
                body,
                method=settings.tracking_method,
                label_key=settings.instance_label_key,
                installation_id=settings.installation_id,
            )
            if owner and not fields(body.get("metadata")).get("ownerReferences"):
                self._by_owner[owner][key] = body

    def __contains__(self, key: Key) -> bool:
        return key in self._by_key

    def get(self, key: Key) -> Object | None:
        return self._by_key.get(key)

    @property
    def has_marks(self) -> bool:
        """Is anything marked as an app's? A bundle written by hand may have no marks at all."""
        return bool(self._by_owner)

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        managed = dict(self._by_owner[instance]) if instance in self._by_owner else {}
        for target in targets:
            key = ref_of(target).key
            live = self._by_key.get(key) or self._elsewhere(key)
            if live is not None:
                managed[key] = in_version(live, target)
        return managed

    def _elsewhere(self, key: Key) -> Object | None:
        """A hand-written object may leave out its namespace; no kind is both with and without one."""
        nowhere = self._by_key.get(key._replace(namespace="")) if key.namespace else None
        if nowhere is None:
            return None
        return {**nowhere, "metadata": {**fields(nowhere.get("metadata")), "namespace": key.namespace}}


def in_version(live: Object, target: Object) -> Object:
    """Live in the API version that Git asks for.

    Differs: upstream converts through the types of that version, or asks the server; here only the version
    itself is written anew, which is the same where the shape has not changed.
    """
    wanted = target.get("apiVersion")
    return live if live.get("apiVersion") == wanted else {**live, "apiVersion": wanted}
