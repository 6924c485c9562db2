"""Inputs and result of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, TypeVar, cast

import msgspec

from whysync.argocd.api.application import Application, Condition, SyncCode
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveState
from whysync.argocd.diff.options import Strategy
from whysync.argocd.diff.result import DiffResult
from whysync.argocd.health.application import AppHealth
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.ignore_differences import Normalizer
from whysync.argocd.projects import Cluster
from whysync.argocd.scripts.lua import LuaRunner
from whysync.argocd.settings import Settings
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.merge.structured import Schemas

# Cache of comparison results by the identity of the compared objects.
#
# Live and rendered objects are never changed in place, so an identical object has the same result. The
# owner of a `Memory` replaces it when the rules change (settings, ignore rules, the project).


T = TypeVar("T")


class Memo(Generic[T]):
    """Results by object identity; results that two comparisons did not use are dropped."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}
        self._before: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}

    def recall(self, make: Callable[[], T], *about: object) -> T:
        # References to the objects are stored with the result, so that their ids stay unique.
        key = tuple(map(id, about))
        remembered = self._now.get(key)
        if remembered is None:
            remembered = self._before.get(key) or (about, make())
            self._now[key] = remembered
        return remembered[1]

    def start_comparison(self) -> None:
        """Drops the results that the last comparison did not use."""
        self._before, self._now = self._now, {}


class Memory:
    __slots__ = ("_memos",)

    def __init__(self) -> None:
        self._memos: dict[type, Memo[object]] = {}

    def memo(self, of: type[T]) -> Memo[T]:
        """The results of this type."""
        memo = self._memos.get(of)
        if memo is None:
            memo = self._memos[of] = Memo()
        return cast("Memo[T]", memo)

    def start_comparison(self) -> None:
        """Called when objects have changed, before a comparison."""
        for memo in self._memos.values():
            memo.start_comparison()


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of the comparison of one Application.

    - `targets` are the rendered manifests, empty if rendering failed with `target_error`; `revisions` are the
      resolved revisions of the sources.
    - `project` is `None` if the facts lack it; then everything is permitted.
    - `marks_targets`: the targets have tracking metadata, as in Argo CD. False for handwritten facts without
      any tracking metadata.
    - `dry_run` returns the result of a server-side apply; without it a server-side diff is computed as a
      structured merge, with a note.
    """

    application: Object
    app: Application
    project: AppProject | None
    settings: Settings
    targets: Sequence[Object]
    live: LiveState
    now: datetime
    scopes: Scopes = msgspec.field(default_factory=Scopes)
    cluster: Cluster | None = None
    project_clusters: Sequence[Cluster] | None = ()
    control_plane_namespace: str = "argocd"
    revisions: Sequence[str] = ()
    target_error: str | None = None
    integrity_problems: Sequence[str] = ()
    marks_targets: bool = True
    dry_run: Callable[[Object], Object] | None = None
    schemas: Schemas | None = None
    lua: LuaRunner | None = None
    memory: Memory | None = None
    """The results of earlier comparisons of the same app with the same rules."""

    @property
    def spec(self) -> Object:
        return fields(self.application.get("spec"))


class ComparedResource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of the comparison: its target and its live object, of which one may be missing.

    `target` and `live` are not normalized (but in Git's API version, with their namespaces); `diff` has the
    normalized objects. `sync` is `None` for hooks and for objects that are not the app's own.
    """

    ref: Ref
    target: Object | None
    live: Object | None
    diff: DiffResult | None
    """`None` if it could not be compared because of `error`."""
    strategy: Strategy
    sync: SyncCode | None
    health: HealthVerdict | None
    hook: bool = False
    requires_pruning: bool = False
    requires_deletion_confirmation: bool = False
    sync_wave: int = 0
    is_own: bool = True
    """False if its tracking id was copied from another object; then it is ignored."""
    error: str = ""

    @property
    def key(self) -> Key:
        return self.ref.key

    @property
    def has_both_sides(self) -> bool:
        return self.target is not None and self.live is not None

    @property
    def is_modified(self) -> bool:
        """Both sides exist, and they differ."""
        return self.has_both_sides and self.diff is not None and self.diff.modified


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    sync: SyncCode
    health: AppHealth | None
    """`None` if the settings cannot be read; then it is Unknown."""
    resources: tuple[ComparedResource, ...]
    hooks: tuple[Object, ...]
    """The hooks in Git, which are not compared; live hooks are in `resources`."""
    conditions: tuple[Condition, ...]
    """The conditions of this comparison; `status` has earlier ones too."""
    status: Object
    """The Application's next status, in Argo CD's JSON."""
    strategy: Strategy
    """The diff strategy of the Application; a resource can have another."""
    inputs: Inputs
    rules: Normalizer | None = None
    """The ignore rules; `None` if one of them is invalid."""
    notes: tuple[str, ...] = ()
    """How this comparison differs from Argo CD's because of missing facts."""
    has_pre_delete_hooks: bool = False
    has_post_delete_hooks: bool = False

    def resource(self, key: Key) -> ComparedResource | None:
        return next((resource for resource in self.resources if resource.key == key), None)
