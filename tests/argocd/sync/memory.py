"""A very small cluster: it keeps what is applied, deletes what may go, and does nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.argocd.sync.objects import NAMESPACE
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.health.assess import Assessment, assess
from whysync.argocd.sync.cluster_ops import ApiResource, Mode, Reason, Refused
from whysync.argocd.sync.options import Propagation, SyncOptions
from whysync.argocd.sync.request import NamespaceMaker, Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Key, Ref, ref_of


@dataclass(kw_only=True)
class MemoryGround:
    objects: dict[Key, Object] = field(default_factory=dict[Key, Object])
    refusals: dict[str, str] = field(default_factory=dict[str, str])
    """By name: why such an object cannot be applied."""
    becomes: Callable[[Object], Object] = lambda obj: obj
    """What controllers make of an object as soon as it is applied."""
    log: list[str] = field(default_factory=list[str])

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:  # noqa: ARG002  (of ClusterOps)
        return ApiResource(namespaced=kind != "Namespace")

    def kinds(self) -> Sequence[Ref]:
        return ()

    def get(self, ref: Ref) -> Object:
        result = self.objects.get(ref.key)
        if result is None:
            raise Refused(f'"{ref.name}" not found', reason=Reason.NOT_FOUND)
        return result

    def apply(self, obj: Object, mode: Mode) -> str:
        ref = ref_of(obj)
        if mode.dry_run:
            return f"{ref.kind}/{ref.name} configured (dry run)"
        self.log.append(f"apply {ref.name}")
        if ref.name in self.refusals:
            raise Refused(self.refusals[ref.name])
        message = "configured" if ref.key in self.objects else "created"
        self.objects[ref.key] = self.becomes(obj)
        return f"{ref.kind}/{ref.name} {message}"

    create = apply
    replace = apply

    def update(self, obj: Object, *, dry_run: bool) -> None:
        key = ref_of(obj).key
        if key not in self.objects:
            raise Refused("not found", reason=Reason.NOT_FOUND)
        if not dry_run:
            self.objects[key] = obj
            self._collect(key)

    def patch(self, ref: Ref, patch: list[Json]) -> None: ...

    def delete(self, ref: Ref, propagation: Propagation) -> None:  # noqa: ARG002  (of ClusterOps)
        result = self.get(ref)
        self.log.append(f"delete {ref.name}")
        meta: Object = {**fields(result.get("metadata")), "deletionTimestamp": "2026-03-02T03:10:00Z"}
        self.objects[ref.key] = {**result, "metadata": meta}
        self._collect(ref.key)

    def _collect(self, key: Key) -> None:
        meta = fields(self.objects[key].get("metadata"))
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            del self.objects[key]

    def health(self, obj: Object) -> Assessment | None:
        return assess(obj)

    def pause(self, phase: str, wave: int, *, final: bool) -> None: ...

    def request(
        self,
        targets: Iterable[Object] = (),
        hooks: Iterable[Object] = (),
        options: SyncOptions = SyncOptions(),  # noqa: B008  (frozen)
        *,
        prune_confirmed: bool = False,
        make_namespace: NamespaceMaker | None = None,
    ) -> Request:
        """What a comparison with the cluster as it is now would ask for: all that is in it is the app's."""
        expected = {ref_of(target).key: target for target in targets}
        pairs = [Pair(target, self.objects.get(key)) for key, target in expected.items()]
        pairs += [Pair(None, live) for key, live in self.objects.items() if key not in expected]
        return Request(
            namespace=NAMESPACE,
            revision="0123456789abcdef",
            pairs=tuple(pairs),
            hooks=tuple(hooks),
            options=options,
            prune_confirmed=prune_confirmed,
            make_namespace=make_namespace,
        )

    def run(
        self,
        targets: Iterable[Object] = (),
        hooks: Iterable[Object] = (),
        options: SyncOptions = SyncOptions(),  # noqa: B008  (frozen)
        *,
        most: int = 50,
    ) -> list[State]:
        """Step by step to the end, or until nothing happens any more."""
        targets, hooks = tuple(targets), tuple(hooks)
        states = [State()]
        for _ in range(most):
            before = dict(self.objects)
            states.append(step(states[-1], self.request(targets, hooks, options), self))
            if states[-1].is_finished or (states[-1] == states[-2] and before == self.objects):
                break
        return states[1:]

    @property
    def names(self) -> set[str]:
        return {key.name for key in self.objects}
