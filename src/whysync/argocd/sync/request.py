"""The request of a sync operation: all inputs of its steps except the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, TypeAlias

import msgspec

from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.sync.cluster_ops import ApiResource
from whysync.argocd.sync.options import SyncOptions
from whysync.json_tree import Object, dig
from whysync.kubernetes.api.ref import Key, key_of, ref_of

ARGOCD_MANAGER: Final = "argocd-controller"

_DEFAULTS: Final = SyncOptions()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

NamespaceMaker: TypeAlias = "Callable[[Object, Object | None], Object | None]"


class NamespaceProblem(Exception):
    """The destination namespace could not be prepared."""


def _permitted(obj: Object, kind: ApiResource) -> str | None:  # noqa: ARG001  (nothing is forbidden)
    return None


class Request(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Mirrors the arguments of `NewSyncContext`, Argo CD 3.6.

    - `pairs` and `hooks` are from a fresh comparison, which each step of an operation makes.
    - `modified` has the comparison result of each pair; only used with `ApplyOutOfSyncOnly=true`.
    - `permission_problem` returns why the project forbids an object; `includes` filters the pairs of a
      selective sync.
    - `make_namespace` receives the destination Namespace and its live object, and returns the object to
      apply, if any; it may raise `NamespaceProblem`. Without it, no namespace is created.
    """

    namespace: str
    revision: str
    pairs: tuple[Pair, ...] = ()
    hooks: tuple[Object, ...] = ()
    options: SyncOptions = _DEFAULTS
    started_at: datetime = _EPOCH
    prune_confirmed: bool = False
    manager: str = ARGOCD_MANAGER
    modified: Mapping[Key, bool] = msgspec.field(default_factory=dict[Key, bool])
    permission_problem: Callable[[Object, ApiResource], str | None] = _permitted
    includes: Callable[[Pair], bool] | None = None
    make_namespace: NamespaceMaker | None = None

    @cached_property
    def resources(self) -> dict[Key, Pair]:
        """The last pair of each key. Mirrors `groupResources`."""
        return {key_of(pair.obj): pair for pair in self.pairs}

    @cached_property
    def _lives(self) -> dict[tuple[str, str, str], list[tuple[str, Object | None]]]:
        lives: dict[tuple[str, str, str], list[tuple[str, Object | None]]] = {}
        for key, pair in self.resources.items():
            lives.setdefault((key.group, key.kind, key.name), []).append((key.namespace, pair.live))
        return lives

    def live_of(self, target: Object) -> Object | None:
        """The live object of a target whose pair lacks it. Mirrors `liveObj`.

        Cluster-scoped live objects have no namespace even if the target has one.
        """
        key = key_of(target)
        for namespace, live in self._lives.get((key.group, key.kind, key.name), ()):
            if namespace in ("", key.namespace):
                return live
        return None

    @cached_property
    def _defined_kinds(self) -> frozenset[tuple[str, str]]:
        targets = (pair.target for pair in self.resources.values() if pair.target is not None)
        definitions = (obj for obj in (*self.hooks, *targets) if is_definition(obj))
        kinds = ((dig(obj, "spec", "group"), dig(obj, "spec", "names", "kind")) for obj in definitions)
        return frozenset(
            (group, kind) for group, kind in kinds if isinstance(group, str) and isinstance(kind, str)
        )

    def defines(self, group: str, kind: str) -> bool:
        """Does this sync contain the CRD of a kind? Mirrors `hasCRDOfGroupKind`."""
        return (group, kind) in self._defined_kinds


def is_definition(obj: Object) -> bool:
    return obj.get("kind") == "CustomResourceDefinition" and ref_of(obj).group == "apiextensions.k8s.io"


def is_namespace(obj: Object | None, name: str) -> bool:
    if obj is None or obj.get("kind") != "Namespace":
        return False
    ref = ref_of(obj)
    return (ref.group, ref.kind, ref.name) == ("", "Namespace", name)
