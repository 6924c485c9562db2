"""Must somebody confirm before a resource is pruned or deleted?

Mirrors `isObjRequiresDeletionConfirmation` and `IsDeletionConfirmed`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from whysync.argocd.hooks import SYNC_OPTIONS, option_value
from whysync.json_tree import Object


def requires_confirmation(obj: Object | None, app_sync_options: Iterable[str] = ()) -> bool:
    """`Delete=confirm` or `Prune=confirm`; what the resource says of either hides what the app says of it."""
    if obj is None:
        return False
    options = tuple(app_sync_options)
    return any(_value(obj, options, name) == "confirm" for name in ("Delete", "Prune"))


def is_confirmed(approved: str, since: datetime) -> bool:
    """Does the annotation `argocd.argoproj.io/deletion-approved` hold a time that is late enough?"""
    try:
        when = datetime.fromisoformat(approved)
    except ValueError:
        return False
    return when.tzinfo is not None and when >= (since if since.tzinfo else since.replace(tzinfo=UTC))


def _value(obj: Object, app_sync_options: tuple[str, ...], name: str) -> str | None:
    own = option_value(obj, SYNC_OPTIONS, name)
    if own is not None:
        return own
    prefix = f"{name}="
    return next(
        (
            app_sync_option.removeprefix(prefix)
            for app_sync_option in app_sync_options
            if app_sync_option.startswith(prefix)
        ),
        None,
    )
