"""One step under way: where it works, and what it has found out so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.argocd.sync.options import PruneDecision, prune_fate
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import Result, State, get_resource_images
from whysync.argocd.sync.sync_task import SyncTask
from whysync.kubernetes.api.ref import Key


class Step:
    """Mirrors gitops-engine `syncContext`, Argo CD 3.6; differs: it lives for one step only."""

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
    def has_begun(self) -> bool:
        """As soon as there is a result, the dry run counts as done."""
        return bool(self._results)

    @property
    def results(self) -> Iterable[Result]:
        return self._results.values()

    def result_of(self, work: SyncTask) -> Result | None:
        return self._results.get(work.identity)

    def say(self, phase: Phase, message: str) -> None:
        """What the whole operation has come to."""
        self.phase = phase.value
        self.message = message

    def say_waiting(self, works: Sequence[SyncTask], *, for_deletion: bool = False) -> None:
        message = messages.waiting(works, for_deletion=for_deletion, asks_first=self.asks_first)
        self.say(Phase.RUNNING, message)

    def record(self, work: SyncTask, status: str, state: str, message: str) -> None:
        """What has become of one task. Mirrors `setResourceResult`: an empty message keeps the one before."""
        work.status, work.state = str(status), state
        work.message = message or work.message
        before = self._results.get(work.identity)
        self._results[work.identity] = Result(
            group=work.ref.group,
            version=work.ref.version if before is None else before.version,
            kind=work.ref.kind,
            namespace=work.ref.namespace,
            name=work.ref.name,
            status=work.status,
            message=work.message,
            hook_type=(work.phase if work.is_hook else "") if before is None else before.hook_type,
            hook_phase=state,
            sync_phase=work.phase,
            images=get_resource_images(work.obj) if before is None else before.images,
        )

    def asks_first(self, work: SyncTask) -> bool:
        """Is it a prune that requires confirmation and is not confirmed?"""
        if not work.is_prune or work.live is None:
            return False
        fate = prune_fate(work.live, self.options, confirmed=self.request.prune_confirmed)
        return fate is PruneDecision.UNCONFIRMED

    def is_unmodified(self, work: SyncTask) -> bool:
        """May `ApplyOutOfSyncOnly=true` pass it over? Never a hook. Mirrors `filterOutOfSyncTasks`."""
        if work.is_hook or work.target is None or work.live is None:
            return False
        return self.request.modified.get(work.compared_key, True) is False
