"""How often Argo CD tried the last sync, and how often it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whysync.messages.parse import understand
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import app_argument, sync, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

CHANCE: Final = 2
"""More failures in a row than this are not chance."""


def attempts(case: Case) -> int:
    """Attempts of the last sync: the first one and its retries."""
    return case.operation.retry_count + 1 if case.operation is not None else 1


def retries_set(case: Case) -> bool:
    """Does the Application or the last sync retry by itself? An automated sync does, by default."""
    operation = case.operation.operation if case.operation is not None else None
    return case.app.spec.sync_policy.retry is not None or (
        operation is not None and operation.retry is not None and operation.retry.limit != 0
    )


def pending_retry(case: Case) -> str:
    """`retry 4 of 5`: the sync failed, and Argo CD tries again by itself; empty if it does not.

    The operation stays Running until then.
    """
    operation = case.operation
    if operation is None or operation.phase != "Running":
        return ""
    layer = understand(operation.message).layer(LayerKind.RETRYING)
    if layer is None and not (operation.finished_at is not None and operation.retry_count):
        return ""
    number = layer.attempt if layer is not None and layer.attempt else max(operation.retry_count, 1)
    limit = operation.operation.retry.limit if operation.operation.retry is not None else 0
    return f"retry {number} of {limit}" if limit >= number else f"retry {number}"


def sync_or_retry(case: Case) -> tuple[str, ...]:
    """The last commands of a fix outside Git: a retry that is due anyway does what a new sync would do.

    It applies the same commit, so it does not pick up a change in Git.
    """
    retry = pending_retry(case)
    if not retry:
        return (sync(case),)
    wait = f"argocd app wait {app_argument(case)} --operation --timeout 600"
    return (
        with_comment(wait, f"Argo CD tries again by itself ({retry})"),
        with_comment(sync(case), "only if the last retry failed as well"),
    )
