"""Commands of a fix while a sync is running: Argo CD refuses a second one, so the fix waits for it first."""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix
from whysync.queries.commands import app_argument, terminate, with_comment


def is_running(case: Case) -> bool:
    """Is a sync running or waiting for its next retry? Argo CD accepts no other operation until then."""
    operation = case.operation
    return operation is not None and operation.phase in ("Running", "Terminating")


def waiting(case: Case) -> str:
    command = f"argocd app wait {app_argument(case)} --operation --timeout 600"
    return with_comment(command, f"a sync is running: wait for it, or terminate it: {terminate(case)}")


def not_into_a_running_sync(fix: Fix, case: Case) -> Fix:
    """The fix with a wait before its first sync of the app, unless it terminates the running sync itself."""
    if not is_running(case):
        return fix
    name = shlex.split(app_argument(case))
    for index, command in enumerate(fix.commands):
        match _words(command):
            case ["argocd", "app", "terminate-op" | "wait", *_]:
                return fix
            case ["argocd", "app", "sync", app, *_] if [app] == name:
                return replace(fix, commands=(*fix.commands[:index], waiting(case), *fix.commands[index:]))
            case _:
                pass
    return fix


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # an unbalanced quote in a comment line
        return []
