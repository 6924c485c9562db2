"""Commands of a fix while a sync is running: Argo CD refuses a second one, so the first has to end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix
from whysync.queries.attempts import pending_retry
from whysync.queries.commands import app_argument, comment, is_sync, sync, terminate, with_comment, words_of

_HANGING: Final = timedelta(minutes=10)
"""The default progress deadline of a Deployment: what runs longer rarely finishes."""


def is_running(case: Case) -> bool:
    """Is a sync running or waiting for its next retry? Argo CD accepts no other operation until then."""
    operation = case.operation
    return operation is not None and operation.phase in ("Running", "Terminating")


def waiting(case: Case) -> str:
    command = f"argocd app wait {app_argument(case)} --operation --timeout 600"
    return with_comment(command, f"a sync is running: wait for it, or terminate it: {terminate(case)}")


def end_running_sync(case: Case) -> str:
    """A sync that hangs, or that failed and waits for a retry, is terminated; another one is waited for."""
    operation = case.operation
    age = case.age(operation.started_at) if operation is not None else None
    if pending_retry(case) or (operation is not None and operation.retry_count):
        return with_comment(terminate(case), "it retries the failed sync and blocks a new one")
    if age is not None and age >= _HANGING:
        return with_comment(terminate(case), "it hangs and blocks a new sync")
    return waiting(case)


def _after_commit(case: Case) -> Iterator[str]:
    yield end_old_commit(case)
    if not case.is_automated:
        yield sync(case)


def end_old_commit(case: Case) -> str:
    return with_comment(terminate(case), "it still applies the old commit and blocks a new sync")


def not_into_a_running_sync(fix: Fix, case: Case) -> Fix:
    """The fix, in which the running sync ends before the first sync of the app, or after a commit.

    A sync applies the commit with which it began, and Argo CD starts no other one until it ends.
    """
    if not is_running(case):
        return fix
    if fix.then_commit:
        commit = comment("once the correction is committed and pushed:")
        return replace(fix, commands=(*fix.commands, commit, *_after_commit(case)))
    name = words_of(app_argument(case))
    for index, command in enumerate(fix.commands):
        match words_of(command):
            case ["argocd", "app", "terminate-op" | "wait", *_]:
                return fix
            case ["argocd", "app", "sync", app, *_] if [app] == name:
                return replace(
                    fix, commands=(*fix.commands[:index], end_running_sync(case), *fix.commands[index:])
                )
            case ["git", "revert", *_]:
                rest = () if any(map(is_sync, fix.commands)) else _after_commit(case)
                return replace(fix, commands=(*fix.commands, *rest))
            case _:
                pass
    return fix
