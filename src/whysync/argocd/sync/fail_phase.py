"""The phase SyncFail: when a sync has failed, its hooks run before it says so.

Mirrors gitops-engine `executeSyncFailPhase`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync.run_tasks import run
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask


def fail(step: Step, hooks: Sequence[SyncTask], refused: Sequence[SyncTask], message: str) -> bool:
    """`hooks` are those of SyncFail, `refused` what could not be applied. Is the operation over?

    If not, the hooks were started, and the operation keeps running until they are done.
    """
    told = messages.with_reasons(message, refused)
    if all(hook.is_completed for hook in hooks):
        failed = [hook for hook in hooks if hook.was_refused]
        step.say(Phase.FAILED, messages.with_failed_hooks(told, failed))
        return True
    waiting = [hook for hook in hooks if hook.is_pending]
    run(step, waiting, dry_run=False)
    step.say_waiting(waiting)
    return False
