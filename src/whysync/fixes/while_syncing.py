"""Commands of a fix while a sync is running: wait for it or terminate it first, as Argo CD refuses a second
one.
"""

from __future__ import annotations

from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix
from whysync.queries.commands import app_argument, terminate, with_comment

_SYNC = "argocd app sync "


def is_running(case: Case) -> bool:
    """Is a sync running or waiting for its next retry? Argo CD accepts no other operation until then."""
    operation = case.operation
    return operation is not None and operation.phase in ("Running", "Terminating")


def waiting(case: Case) -> str:
    command = f"argocd app wait {app_argument(case)} --operation --timeout 600"
    return with_comment(command, f"a sync is running: wait for it, or terminate it: {terminate(case)}")


def not_into_a_running_sync(fix: Fix, case: Case) -> Fix:
    """The fix with a wait before its first sync of the app, unless it terminates the running sync itself."""
    mine = f"{_SYNC}{app_argument(case)}"
    first = next((n for n, command in enumerate(fix.commands) if _is_sync(command, mine)), None)
    if first is None or not is_running(case):
        return fix
    if any(_ends_it(command) for command in fix.commands[:first]):
        return fix
    return replace(fix, commands=(*fix.commands[:first], waiting(case), *fix.commands[first:]))


def _is_sync(command: str, mine: str) -> bool:
    return command == mine or command.startswith(f"{mine} ")


def _ends_it(command: str) -> bool:
    return command.startswith(("argocd app terminate-op ", "argocd app wait "))
