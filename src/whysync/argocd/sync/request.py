"""What one operation is asked to sync, and how: all that its steps look at besides the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, TypeAlias

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
    """The destination's Namespace could not be made ready."""


def _permitted(obj: Object, kind: ApiResource) -> str | None:  # noqa: ARG001  (nothing is forbidden)
    return None


@dataclass(frozen=True, kw_only=True)
class Request:
    """Mirrors what `NewSyncContext` is given, Argo CD 3.6.

    - `pairs` and `hooks` are those of a fresh comparison: every step of a real operation compares anew.
    - `modified` is what the comparison says of each pair; only `ApplyOutOfSyncOnly=true` asks for it.
    - `permission_problem` answers why the project forbids an object; `includes` leaves pairs out of a sync of
      some resources only.
    - `make_namespace` gets the Namespace of the destination and its live version, and answers what to apply,
      or nothing; it may raise `NamespaceProblem`. Without it, namespaces are left alone.
    """

    namespace: str
    revision: str
    pairs: tuple[Pair, ...] = ()
    hooks: tuple[Object, ...] = ()
    options: SyncOptions = _DEFAULTS
    started_at: datetime = _EPOCH
    prune_confirmed: bool = False
    manager: str = ARGOCD_MANAGER
    modified: Mapping[Key, bool] = field(default_factory=dict[Key, bool])
    permission_problem: Callable[[Object, ApiResource], str | None] = _permitted
    includes: Callable[[Pair], bool] | None = None
    make_namespace: NamespaceMaker | None = None

    @cached_property
    def resources(self) -> dict[Key, Pair]:
        """Of pairs under one key the last one counts. Mirrors `groupResources`."""
        return {key_of(pair.obj): pair for pair in self.pairs}

    @cached_property
    def _lives(self) -> dict[tuple[str, str, str], list[tuple[str, Object | None]]]:
        lives: dict[tuple[str, str, str], list[tuple[str, Object | None]]] = {}
        for key, pair in self.resources.items():
            lives.setdefault((key.group, key.kind, key.name), []).append((key.namespace, pair.live))
        return lives

    def live_of(self, target: Object) -> Object | None:
        """The live object of a target that came without one. Mirrors `liveObj`.

        Cluster-scoped objects have no namespace, whatever the target says.
        """
        ref = ref_of(target)
        known = self._lives.get((ref.group, ref.kind, ref.name), ())
        return next((live for place, live in known if place in ("", ref.namespace)), None)

    @cached_property
    def _defined_kinds(self) -> frozenset[tuple[str, str]]:
        targets = (pair.target for pair in self.resources.values() if pair.target is not None)
        definitions = (obj for obj in (*self.hooks, *targets) if is_definition(obj))
        kinds = ((dig(obj, "spec", "group"), dig(obj, "spec", "names", "kind")) for obj in definitions)
        return frozenset(
            (group, kind) for group, kind in kinds if isinstance(group, str) and isinstance(kind, str)
        )

    def defines(self, group: str, kind: str) -> bool:
        """Does this sync bring the definition of a kind along? Mirrors `hasCRDOfGroupKind`."""
        return (group, kind) in self._defined_kinds


def is_definition(obj: Object) -> bool:
    return obj.get("kind") == "CustomResourceDefinition" and ref_of(obj).group == "apiextensions.k8s.io"


def is_namespace(obj: Object | None, name: str) -> bool:
    if obj is None or obj.get("kind") != "Namespace":
        return False
    ref = ref_of(obj)
    return (ref.group, ref.kind, ref.name) == ("", "Namespace", name)
