"""The context of one sync step: request, cluster, operation phase and resource results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.argocd.sync.options import PruneDecision, prune_decision
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import Result, State, get_resource_images
from whysync.argocd.sync.sync_task import SyncTask
from whysync.kubernetes.api.ref import Key


class SyncContext:
    """Mirrors gitops-engine `syncContext`, Argo CD 3.6; differs: it is created for each step."""

    def __init__(self, state: State, request: Request, cluster_ops: ClusterOps) -> None:
        self.request = request
        self.options = request.options
        self.cluster_ops = cluster_ops
        self.phase = state.phase
        self.message = state.message
        self._results: dict[tuple[Key, str], Result] = {result.task: result for result in state.results}

    @property
    def state(self) -> State:
        return State(phase=self.phase, message=self.message, results=tuple(self._results.values()))

    @property
    def has_started(self) -> bool:
        """With the first result, the dry run counts as done."""
        return bool(self._results)

    @property
    def results(self) -> Iterable[Result]:
        return self._results.values()

    def result_of(self, task: SyncTask) -> Result | None:
        return self._results.get(task.identity)

    def set_operation_phase(self, phase: Phase, message: str) -> None:
        """Mirrors `setOperationPhase`."""
        self.phase = phase.value
        self.message = message

    def set_running_phase(self, tasks: Sequence[SyncTask], *, for_deletion: bool = False) -> None:
        message = messages.waiting(
            tasks, for_deletion=for_deletion, requires_prune_confirmation=self.requires_prune_confirmation
        )
        self.set_operation_phase(Phase.RUNNING, message)

    def set_resource_result(self, task: SyncTask, status: str, state: str, message: str) -> None:
        """Mirrors `setResourceResult`: an empty message keeps the previous one."""
        task.status, task.state = str(status), state
        task.message = message or task.message
        before = self._results.get(task.identity)
        self._results[task.identity] = Result(
            group=task.ref.group,
            version=task.ref.version if before is None else before.version,
            kind=task.ref.kind,
            namespace=task.ref.namespace,
            name=task.ref.name,
            status=task.status,
            message=task.message,
            hook_type=(task.phase if task.is_hook else "") if before is None else before.hook_type,
            hook_phase=state,
            sync_phase=task.phase,
            images=get_resource_images(task.obj) if before is None else before.images,
        )

    def requires_prune_confirmation(self, task: SyncTask) -> bool:
        """Is the task a prune that requires a confirmation which is not given?"""
        if not task.is_prune or task.live is None:
            return False
        decision = prune_decision(task.live, self.options, confirmed=self.request.prune_confirmed)
        return decision is PruneDecision.UNCONFIRMED

    def is_unmodified(self, task: SyncTask) -> bool:
        """Does `ApplyOutOfSyncOnly=true` skip the task? Never a hook. Mirrors `filterOutOfSyncTasks`."""
        if task.is_hook or task.target is None or task.live is None:
            return False
        return self.request.modified.get(task.compared_key, True) is False
