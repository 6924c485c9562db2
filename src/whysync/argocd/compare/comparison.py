"""What a comparison takes, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from whysync.argocd.api.application import Application, Condition, SyncCode
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.diff_memory import Memory
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveState
from whysync.argocd.diff.result import DiffResult
from whysync.argocd.diff.strategy import Strategy
from whysync.argocd.health.application import AppHealth
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.ignore_differences import Normalizer
from whysync.argocd.projects import Cluster
from whysync.argocd.scripts.lua import LuaRunner
from whysync.argocd.settings import Settings
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.merge.structured import Schemas


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that Argo CD looks at when it compares one Application.

    - `targets` are the rendered manifests; `target_error` is set where rendering failed, and then there are
      none. `revisions` are what the sources resolved to, as far as they did.
    - `project` of `None` permits everything: its text is not among the facts.
    - `marks_targets`: the targets carry tracking marks, as Argo CD's do. Where facts are written by hand and
      nothing is marked, `False` keeps the comparison from asking for marks.
    - `dry_run` answers what a server-side apply would give; without it a server-side diff is worked out as
      a structured merge, and the result says so.
    """

    application: Object
    app: Application
    project: AppProject | None
    settings: Settings
    targets: Sequence[Object]
    live: LiveState
    now: datetime
    scopes: Scopes = field(default_factory=Scopes)
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
    """Of earlier comparisons of the same app under the same rules."""

    @property
    def spec(self) -> Object:
        return fields(self.application.get("spec"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedResource:
    """One row: what Git wants and what the cluster has under one name; either may be absent.

    `target` and `live` are as they were found (in Git's API version, with their namespaces); what was
    compared, normalised, is in `diff`. `sync` is absent for hooks and for what is not the app's own.
    """

    ref: Ref
    target: Object | None
    live: Object | None
    diff: DiffResult | None
    """`None`: it could not be compared, and `error` says why."""
    strategy: Strategy
    sync: SyncCode | None
    health: HealthVerdict | None
    hook: bool = False
    requires_pruning: bool = False
    requires_deletion_confirmation: bool = False
    sync_wave: int = 0
    is_own: bool = True
    """`False`: its tracking mark was copied from another object; it does not count."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    sync: SyncCode
    health: AppHealth | None
    """`None`: settings that cannot be read leave it Unknown."""
    resources: tuple[ComparedResource, ...]
    hooks: tuple[Object, ...]
    """Of Git, taken out before comparing; a hook that is live is a row."""
    conditions: tuple[Condition, ...]
    """Of this comparison alone; `status` has those of before too."""
    status: Object
    """The Application's next status, in Argo CD's JSON."""
    strategy: Strategy
    """What the Application asks for; a resource can ask for another."""
    inputs: Inputs
    rules: Normalizer | None = None
    """The ignore rules; `None` where one of them does not compile."""
    notes: tuple[str, ...] = ()
    """Where this comparison is not what Argo CD would do, for want of facts."""
    has_pre_delete_hooks: bool = False
    has_post_delete_hooks: bool = False

    def resource(self, key: Key) -> ComparedResource | None:
        return next((resource for resource in self.resources if resource.key == key), None)
