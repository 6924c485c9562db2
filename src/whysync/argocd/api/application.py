"""The Application: its `spec`, and the `status` that Argo CD writes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from whysync.kubernetes.api.decode import Wire
from whysync.kubernetes.api.ref import Key, Ref


class SyncCode(StrEnum):
    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"


class HealthCode(StrEnum):
    """Health codes from best to worst, as Argo CD ranks them."""

    HEALTHY = "Healthy"
    SUSPENDED = "Suspended"
    PROGRESSING = "Progressing"
    MISSING = "Missing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"


class Phase(StrEnum):
    """The phase of an operation, and of each hook and resource in it."""

    RUNNING = "Running"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    ERROR = "Error"
    SUCCEEDED = "Succeeded"


class Metadata(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class OwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class HelmSource(Wire, frozen=True):
    release_name: str = ""
    value_files: tuple[str, ...] = ()
    version: str = ""


class Source(Wire, frozen=True):
    """Only the fields that are used; the raw spec has all fields."""

    repo_url: str = msgspec.field(default="", name="repoURL")
    path: str = ""
    target_revision: str = ""
    chart: str = ""
    ref: str = ""
    name: str = ""
    helm: HelmSource | None = None


class HydratorDrySource(Wire, frozen=True):
    repo_url: str = msgspec.field(default="", name="repoURL")
    path: str = ""
    target_revision: str = ""


class HydratorTarget(Wire, frozen=True):
    """The target of hydrated manifests; without a `repoURL`, the dry source's repository."""

    repo_url: str = msgspec.field(default="", name="repoURL")
    target_branch: str = ""
    path: str = ""


class SourceHydrator(Wire, frozen=True):
    dry_source: HydratorDrySource = HydratorDrySource()
    sync_source: HydratorTarget = HydratorTarget()
    hydrate_to: HydratorTarget | None = None


class Destination(Wire, frozen=True):
    server: str = ""
    name: str = ""
    namespace: str = ""


class Automated(Wire, frozen=True):
    prune: bool = False
    self_heal: bool = False
    allow_empty: bool = False
    enabled: bool | None = None


class Backoff(Wire, frozen=True):
    duration: str = ""
    factor: int | None = None
    max_duration: str = ""


class Retry(Wire, frozen=True):
    limit: int = 0
    refresh: bool = False
    backoff: Backoff | None = None


class NamespaceMetadata(Wire, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class SyncPolicy(Wire, frozen=True):
    automated: Automated | None = None
    sync_options: tuple[str, ...] = ()
    retry: Retry | None = None
    managed_namespace_metadata: NamespaceMetadata | None = None


class IgnoreDifference(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    json_pointers: tuple[str, ...] = msgspec.field(default=(), name="jsonPointers")
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()


class Spec(Wire, frozen=True):
    project: str = ""
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    source_hydrator: SourceHydrator | None = None
    destination: Destination = Destination()
    sync_policy: SyncPolicy = SyncPolicy()
    ignore_differences: tuple[IgnoreDifference, ...] = ()


class ComparedTo(Wire, frozen=True):
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    destination: Destination = Destination()
    ignore_differences: tuple[IgnoreDifference, ...] = ()


class SyncStatus(Wire, frozen=True):
    status: str = ""
    compared_to: ComparedTo | None = None
    revision: str = ""
    revisions: tuple[str, ...] = ()


class Health(Wire, frozen=True):
    status: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class Condition(Wire, frozen=True):
    type: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class _Named(Wire, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def ref(self) -> Ref:
        return Ref(
            group=self.group, version=self.version, kind=self.kind, namespace=self.namespace, name=self.name
        )

    @property
    def key(self) -> Key:
        return Key(self.group, self.kind, self.namespace, self.name)


class ResourceRow(_Named, frozen=True):
    """A row of `status.resources`; a hook or an object of another app has no `status`."""

    status: str = ""
    health: Health | None = None
    hook: bool = False
    requires_pruning: bool = False
    requires_deletion_confirmation: bool = False
    sync_wave: int = 0


class ResourceResult(_Named, frozen=True):
    """The sync result of a resource. `hook_phase` is also set for resources that are not hooks."""

    status: str = ""
    message: str = ""
    hook_type: str = ""
    hook_phase: str = ""
    sync_phase: str = ""


class SyncResult(Wire, frozen=True):
    revision: str = ""
    revisions: tuple[str, ...] = ()
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    resources: tuple[ResourceResult, ...] = ()
    managed_namespace_metadata: NamespaceMetadata | None = None


class SelectedResource(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    exclude: bool = False


class SyncOperation(Wire, frozen=True):
    revision: str = ""
    revisions: tuple[str, ...] = ()
    prune: bool = False
    dry_run: bool = False
    sync_options: tuple[str, ...] = ()
    resources: tuple[SelectedResource, ...] = ()
    auto_heal_attempts_count: int = 0


class InitiatedBy(Wire, frozen=True):
    username: str = ""
    automated: bool = False


class Operation(Wire, frozen=True):
    sync: SyncOperation | None = None
    initiated_by: InitiatedBy = InitiatedBy()
    retry: Retry | None = None


class OperationState(Wire, frozen=True):
    """`Running` with `finished_at` means that it failed and waits for a retry."""

    operation: Operation = Operation()
    phase: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retry_count: int = 0
    sync_result: SyncResult | None = None


class HistoryEntry(Wire, frozen=True):
    id: int = 0
    revision: str = ""
    revisions: tuple[str, ...] = ()
    deployed_at: datetime | None = None
    deploy_started_at: datetime | None = None
    initiated_by: InitiatedBy = InitiatedBy()


class HydrateOperation(Wire, frozen=True):
    phase: str = ""
    message: str = ""
    dry_sha: str = msgspec.field(default="", name="drySHA")
    hydrated_sha: str = msgspec.field(default="", name="hydratedSHA")
    started_at: datetime | None = None
    finished_at: datetime | None = None


class HydratorStatus(Wire, frozen=True):
    current_operation: HydrateOperation | None = None
    last_successful_operation: HydrateOperation | None = None


class Status(Wire, frozen=True):
    sync: SyncStatus = SyncStatus()
    health: Health = Health()
    resources: tuple[ResourceRow, ...] = ()
    conditions: tuple[Condition, ...] = ()
    operation_state: OperationState | None = None
    history: tuple[HistoryEntry, ...] = ()
    reconciled_at: datetime | None = None
    source_type: str = ""
    source_types: tuple[str, ...] = ()
    source_hydrator: HydratorStatus | None = None
    resource_health_source: str = ""
    controller_namespace: str = ""


class Application(Wire, frozen=True):
    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()
    operation: Operation | None = None

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def qualified_name(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def project(self) -> str:
        return self.spec.project or "default"

    @property
    def sources(self) -> tuple[Source, ...]:
        """`spec.sources` takes precedence over `spec.source`, as in Argo CD."""
        if self.spec.sources:
            return self.spec.sources
        return (self.spec.source,) if self.spec.source else ()

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions of the last comparison, one per source."""
        sync = self.status.sync
        return sync.revisions or ((sync.revision,) if sync.revision else ())
