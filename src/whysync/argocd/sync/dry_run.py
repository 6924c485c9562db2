"""Before anything is changed, everything is tried: a dry run of all phases and waves at once.

It is kubectl's own, on the client's side even where server-side apply is asked for. So it finds kinds that
are unknown and objects that are malformed; it does not find immutable fields, admission or quotas, which are
met when the wave is applied. Mirrors the start of gitops-engine `Sync`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync.fail_phase import fail
from whysync.argocd.sync.request import is_namespace
from whysync.argocd.sync.run_tasks import Outcome, run
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask


def try_everything(step: Step, works: Sequence[SyncTask]) -> bool:
    """May the operation go on? If not, it has failed and says why.

    A destination namespace that this sync creates is created for real, and first: without it much of the
    rest could not be tried.
    """
    tried = list(works)
    namespace = _namespace_to_create(step, works)
    if namespace is not None:
        if run(step, [namespace], dry_run=False) is Outcome.FAILED:
            fail(step, [], [namespace], messages.NAMESPACE_FAILED)
            return False
        tried.remove(namespace)
    if step.options.out_of_sync_only:
        tried = [work for work in tried if not step.is_unmodified(work)]
    if run(step, tried, dry_run=True) is Outcome.FAILED:
        step.say(Phase.FAILED, messages.DRY_RUN_FAILED)
        return False
    return True


def _namespace_to_create(step: Step, works: Sequence[SyncTask]) -> SyncTask | None:
    name = step.request.namespace
    return next((work for work in works if work.live is None and is_namespace(work.target, name)), None)
