"""What records say outright, and a cluster would have to be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whysync.argocd.compare.kind_scopes import Scopes
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key


class GivenLive:
    """The objects are known to be the app's."""

    def __init__(self, objects: Mapping[Key, Object]) -> None:
        self._objects = objects

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:  # noqa: ARG002
        return dict(self._objects)


class EveryKindNamespaced(Scopes):
    """The cluster of Argo CD's own unit tests."""

    __slots__ = ()

    def is_namespaced(self, group: str, kind: str) -> bool | None:  # noqa: ARG002  (whatever it is)
        return True
