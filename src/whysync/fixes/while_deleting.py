"""Fixes of an Application that is being deleted: Argo CD neither syncs it nor reads Git for it any more."""

from __future__ import annotations

from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind
from whysync.queries.commands import is_refresh, is_sync


def is_being_deleted(case: Case) -> bool:
    return case.app.metadata.deletion_timestamp is not None


def not_while_deleting(fix: Fix, case: Case) -> Fix | None:
    """The fix without its syncs; `None` if nothing is left that has an effect during the deletion.

    A manifest in Git and a sync would create again what the deletion removes, so Argo CD refuses the sync.
    """
    if not is_being_deleted(case):
        return fix
    if fix.kind is FixKind.MANIFEST:
        return None
    commands = tuple(command for command in fix.commands if not is_sync(command))
    if fix.commands and all(is_refresh(command) or command.startswith("#") for command in commands):
        return None
    return replace(fix, commands=commands)
