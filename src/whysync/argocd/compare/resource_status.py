"""The sync status of one resource, and whether it makes the Application OutOfSync."""

from __future__ import annotations

from typing import NamedTuple

from whysync.argocd.api.application import SyncCode
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.hooks import (
    COMPARE_OPTIONS,
    HELM_HOOK,
    HOOK,
    SYNC_OPTIONS,
    SYNC_WAVE,
    has_option,
    is_any_hook,
    is_ignored,
    is_skipped,
)
from whysync.argocd.hooks.annotations import HELM_HOOK_WEIGHT
from whysync.json_tree import Object, fields

_TELLING = frozenset({HOOK, HELM_HOOK, HELM_HOOK_WEIGHT, SYNC_OPTIONS, SYNC_WAVE, COMPARE_OPTIONS})


def is_plain(obj: Object | None) -> bool:
    """No annotation of it has a say here, as with most objects: then nothing need be read from them."""
    if obj is None:
        return True
    return _TELLING.isdisjoint(fields(fields(obj.get("metadata")).get("annotations")))


class RowStatus(NamedTuple):
    sync: SyncCode | None
    """`None`: a hook, or an object that is not the app's own."""
    drifts_app: bool


def row_status(
    pair: Pair, *, modified: bool, is_own: bool, may_be_absent: bool, is_plain: bool = False
) -> RowStatus:
    """`may_be_absent`: a Namespace that the app makes itself, and that is not there yet."""
    differs = modified or pair.target is None or pair.live is None
    if is_plain and is_own and not may_be_absent:
        return RowStatus(SyncCode.OUT_OF_SYNC if differs else SyncCode.SYNCED, drifts_app=differs)
    if is_any_hook(pair.obj) or is_ignored(pair.obj) or not is_own:
        return RowStatus(None, drifts_app=False)
    if pair.target is not None and is_skipped(pair.target):
        return RowStatus(None, drifts_app=False)
    if not differs or may_be_absent:
        return RowStatus(SyncCode.SYNCED, drifts_app=False)
    # The row of an extra object says OutOfSync all the same.
    tolerated = pair.target is None and has_option(pair.obj, COMPARE_OPTIONS, "IgnoreExtraneous")
    return RowStatus(SyncCode.OUT_OF_SYNC, drifts_app=not tolerated)
