"""One task of a sync during a step. Mirrors gitops-engine `syncTask`, Argo CD 3.6."""

from __future__ import annotations

from whysync.argocd.api.application import Phase
from whysync.argocd.hooks import DeletePolicy, Task, delete_policies, is_hook
from whysync.argocd.sync.results import COMPLETED, Code
from whysync.json_tree import Object, dig
from whysync.kubernetes.api.ref import Key, ref_of


class SyncTask:
    """A planned task and its progress: `status` and `state` are empty before it has started."""

    __slots__ = (
        "is_hook",
        "live",
        "message",
        "obj",
        "ref",
        "skips_dry_run",
        "state",
        "status",
        "task",
        "wave",
    )

    def __init__(self, task: Task, *, skips_dry_run: bool = False) -> None:
        self.task = task
        self.live = task.live
        self.obj = task.obj
        self.ref = ref_of(task.obj)
        self.wave = task.wave
        self.is_hook = is_hook(task.obj)
        self.skips_dry_run = skips_dry_run
        """The kind is missing until the sync has created its CRD."""
        self.status = ""
        self.state = ""
        self.message = ""

    @property
    def phase(self) -> str:
        return self.task.phase

    @property
    def target(self) -> Object | None:
        return self.task.target

    @property
    def is_prune(self) -> bool:
        return self.task.target is None

    @property
    def identity(self) -> tuple[Key, str]:
        """The key of its result."""
        return self.ref.key, self.task.phase

    @property
    def compared_key(self) -> Key:
        """The key in the comparison: the target of a cluster-scoped kind was given a namespace."""
        if self.live is None:
            return self.ref.key
        return self.ref.key._replace(namespace=ref_of(self.live).namespace)

    @property
    def label(self) -> str:
        return f"{self.ref.group}/{self.ref.kind}/{self.ref.name}"

    @property
    def is_pending(self) -> bool:
        return self.state == ""

    @property
    def is_running(self) -> bool:
        return self.state == Phase.RUNNING

    @property
    def is_completed(self) -> bool:
        return self.state in COMPLETED

    @property
    def has_failed(self) -> bool:
        return self.is_completed and self.state != Phase.SUCCEEDED

    @property
    def was_refused(self) -> bool:
        return self.status == Code.SYNC_FAILED

    @property
    def is_being_deleted(self) -> bool:
        return bool(dig(self.live or {}, "metadata", "deletionTimestamp"))

    def is_deleted_on(self, policy: DeletePolicy) -> bool:
        return self.live is not None and self.is_hook and policy in delete_policies(self.obj)

    @property
    def is_deleted_before_creation(self) -> bool:
        return self.is_pending and self.is_deleted_on(DeletePolicy.BEFORE_HOOK_CREATION)
