"""The sync status of one resource, and whether it makes the Application OutOfSync."""

from __future__ import annotations

from typing import NamedTuple

from whysync.contracts.application import SyncCode
from whysync.semantics.comparison.pairing import Pair
from whysync.semantics.hooks import COMPARE_OPTIONS, has_option, is_any_hook, is_ignored, is_skipped


class RowStatus(NamedTuple):
    sync: SyncCode | None
    """`None`: a hook, or an object that is not the app's own."""
    drifts_app: bool


def row_status(pair: Pair, *, modified: bool, is_own: bool, may_be_absent: bool) -> RowStatus:
    """`may_be_absent`: a Namespace that the app makes itself, and that is not there yet."""
    if is_any_hook(pair.obj) or is_ignored(pair.obj) or not is_own:
        return RowStatus(None, drifts_app=False)
    if pair.target is not None and is_skipped(pair.target):
        return RowStatus(None, drifts_app=False)
    differs = modified or pair.target is None or pair.live is None
    if not differs or may_be_absent:
        return RowStatus(SyncCode.SYNCED, drifts_app=False)
    # The row of an extra object says OutOfSync all the same.
    tolerated = pair.target is None and has_option(pair.obj, COMPARE_OPTIONS, "IgnoreExtraneous")
    return RowStatus(SyncCode.OUT_OF_SYNC, drifts_app=not tolerated)
