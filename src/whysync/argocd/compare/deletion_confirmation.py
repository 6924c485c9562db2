"""Confirmations of prunes and deletions (`Prune=confirm`, `Delete=confirm`).

Mirrors `isObjRequiresDeletionConfirmation` and `IsDeletionConfirmed`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from whysync.argocd.hooks import SYNC_OPTIONS, option_value
from whysync.json_tree import Object


def requires_confirmation(obj: Object | None, app_sync_options: Iterable[str] = ()) -> bool:
    """Has the object `Delete=confirm` or `Prune=confirm`? Its options take precedence over the app's."""
    if obj is None:
        return False
    options = tuple(app_sync_options)
    return any(_value(obj, options, name) == "confirm" for name in ("Delete", "Prune"))


def is_confirmed(approved: str, since: datetime) -> bool:
    """Is the time in the annotation `argocd.argoproj.io/deletion-approved` not before `since`?"""
    try:
        approved_at = datetime.fromisoformat(approved)
    except ValueError:
        return False
    return approved_at.tzinfo is not None and approved_at >= (
        since if since.tzinfo else since.replace(tzinfo=UTC)
    )


def _value(obj: Object, app_sync_options: tuple[str, ...], name: str) -> str | None:
    object_option = option_value(obj, SYNC_OPTIONS, name)
    if object_option is not None:
        return object_option
    prefix = f"{name}="
    return next(
        (
            app_sync_option.removeprefix(prefix)
            for app_sync_option in app_sync_options
            if app_sync_option.startswith(prefix)
        ),
        None,
    )
