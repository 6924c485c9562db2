"""Automated sync: does the controller start a sync by itself, and if not, why not?

Mirrors `autoSync`, `alreadyAttemptedSync` and `selfHealRemainingBackoff` of the application controller,
Argo CD 3.6. The conditions are checked at the end of every refresh, in this order, up to the first that is
not met. A revision is tried only once: after a failure, neither a change of sync options nor a repaired
cluster leads to another attempt, only a new revision, another source, or a manual sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Phase
from whysync.argocd.compare.sources import has_multiple_sources, same_sources, source_of
from whysync.argocd.sync.retry import AUTOMATED_LIMIT
from whysync.argocd.sync_windows.windows import WindowVerdict
from whysync.json_tree import Json, Object, dig, fields, integer, items, text

COMPLETED: Final = frozenset({Phase.FAILED.value, Phase.ERROR.value, Phase.SUCCEEDED.value})
_MAX_SECONDS: Final = 1e9


class AutoSyncReason(StrEnum):
    STARTS = "starts"
    SELF_HEALS = "self-heals"
    NOT_AUTOMATED = "not-automated"
    DISABLED = "disabled"
    WINDOW = "window"
    OPERATION_IN_PROGRESS = "operation-in-progress"
    BEING_DELETED = "being-deleted"
    NOT_OUT_OF_SYNC = "not-out-of-sync"
    PRUNE_ONLY = "prune-only"
    """Only prunes are pending, and automated pruning is off."""
    FAILED_BEFORE = "failed-before"
    """The sync of this revision failed, and it is not tried again."""
    SYNCED_BEFORE = "synced-before"
    """This revision was synced and self-heal is off, so drift stays."""
    BACKING_OFF = "backing-off"
    WOULD_WIPE = "would-wipe"
    """Every resource would be pruned, and `allowEmpty` is off."""

    @property
    def starts(self) -> bool:
        return self in (AutoSyncReason.STARTS, AutoSyncReason.SELF_HEALS)


class AutoSync(msgspec.Struct, frozen=True, kw_only=True):
    """The decision. `cites` are JSON pointers to the deciding fields of the Application."""

    reason: AutoSyncReason
    cites: tuple[str, ...] = ()
    condition: str = ""
    """The message of the SyncError condition that is set, if any."""
    operation: Object | None = None
    retry_in: timedelta | None = None

    @property
    def starts(self) -> bool:
        return self.reason.starts


class SelfHealBackoff(msgspec.Struct, frozen=True, kw_only=True):
    """The delay of self-heal after attempt N; without a base it is always `plain`."""

    base: timedelta | None = timedelta(seconds=2)
    factor: int = 3
    cap: timedelta = timedelta(seconds=300)
    plain: timedelta = timedelta()

    def delay(self, attempts: int) -> timedelta:
        if self.base is None:
            return self.plain
        if attempts <= 0:
            return timedelta()
        try:
            seconds = self.base.total_seconds() * float(self.factor) ** (attempts - 1)
        except OverflowError:
            seconds = _MAX_SECONDS
        cap_seconds = self.cap.total_seconds() if self.cap > timedelta() else _MAX_SECONDS
        return timedelta(seconds=min(seconds, cap_seconds))


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Whether these revisions were already synced, the phase of that operation, and its revisions."""

    attempted: bool
    phase: str = ""
    revisions: tuple[str, ...] = ()


def already_attempted(app: Object, desired: Sequence[str], *, revisions_have_changes: bool = True) -> Attempt:
    """`revisions_have_changes` is false if none of the app's `manifest-generate-paths` has changed."""
    state = fields(dig(app, "status", "operationState"))
    if not state:
        return Attempt(attempted=False)
    phase = text(state.get("phase"))
    result = fields(state.get("syncResult"))
    if not result:
        return Attempt(attempted=phase in COMPLETED, phase=phase)
    spec = fields(app.get("spec"))
    if has_multiple_sources(spec):
        revisions = tuple(text(revision) for revision in items(result.get("revisions")))
    else:
        revisions = (text(result.get("revision")),)
    same_revisions = not revisions_have_changes or revisions == tuple(desired)
    return Attempt(attempted=same_revisions and same_sources(spec, result), phase=phase, revisions=revisions)


def self_heal_remaining_backoff(
    app: Object, attempts: int, now: datetime, backoff: SelfHealBackoff
) -> timedelta:
    """The remaining backoff; zero or less means that self-heal may start now."""
    state = fields(dig(app, "status", "operationState"))
    if not state:
        return timedelta()
    finished = _time(state.get("finishedAt"))
    delay = backoff.delay(attempts)
    return delay if finished is None else delay - (now - finished)


def auto_sync(
    app: Object,
    now: datetime,
    *,
    sync_status: Object | None = None,
    resources: Sequence[Object] | None = None,
    revisions_have_changes: bool = True,
    backoff: SelfHealBackoff | None = None,
    windows: WindowVerdict | None = None,
) -> AutoSync:
    """Would the controller start a sync? Uses the app's last comparison unless another is passed."""
    status = fields(dig(app, "status", "sync")) if sync_status is None else sync_status
    rows = [fields(row) for row in items(dig(app, "status", "resources"))] if resources is None else resources
    automated = dig(app, "spec", "syncPolicy", "automated")
    if not isinstance(automated, dict):
        return AutoSync(reason=AutoSyncReason.NOT_AUTOMATED, cites=("/spec/syncPolicy",))
    if automated.get("enabled") is False:
        return AutoSync(reason=AutoSyncReason.DISABLED, cites=("/spec/syncPolicy/automated/enabled",))
    if windows is not None and not windows.allowed:
        return AutoSync(reason=AutoSyncReason.WINDOW)
    refused = _refused(app, automated, status, rows)
    if refused is not None:
        return refused
    spec = fields(app.get("spec"))
    desired = (
        tuple(text(revision) for revision in items(status.get("revisions")))
        if has_multiple_sources(spec)
        else (text(status.get("revision")),)
    )
    attempt = already_attempted(app, desired, revisions_have_changes=revisions_have_changes)
    healed: Object = {}
    if attempt.attempted:
        attempts = integer(dig(app, "status", "operationState", "operation", "sync", "autoHealAttemptsCount"))
        refused = _refused_again(app, automated, attempt, attempts, now, backoff or SelfHealBackoff())
        if refused is not None:
            return refused
        healed = {"autoHealAttemptsCount": attempts + 1, "resources": _out_of_sync_resources(rows)}
    may_wipe = automated.get("prune") is not True or automated.get("allowEmpty") is True
    if not may_wipe and all(row.get("requiresPruning") is True for row in rows):
        return AutoSync(
            reason=AutoSyncReason.WOULD_WIPE,
            condition=f"Skipping sync attempt to {_go_list(desired)}: auto-sync will wipe out all resources",
            cites=("/spec/syncPolicy/automated", "/status/resources"),
        )
    return AutoSync(
        reason=AutoSyncReason.SELF_HEALS if attempt.attempted else AutoSyncReason.STARTS,
        operation=_operation(spec, automated, status, healed),
        cites=("/spec/syncPolicy/automated", "/status/sync"),
    )


def _refused(app: Object, automated: Object, status: Object, rows: Sequence[Object]) -> AutoSync | None:
    if isinstance(app.get("operation"), dict):
        return AutoSync(reason=AutoSyncReason.OPERATION_IN_PROGRESS, cites=("/operation",))
    if dig(app, "metadata", "deletionTimestamp"):
        return AutoSync(reason=AutoSyncReason.BEING_DELETED, cites=("/metadata/deletionTimestamp",))
    if status.get("status") != "OutOfSync":
        return AutoSync(reason=AutoSyncReason.NOT_OUT_OF_SYNC, cites=("/status/sync/status",))
    changed = [row for row in rows if row.get("status") != "Synced"]
    if automated.get("prune") is not True and all(row.get("requiresPruning") is True for row in changed):
        cites = ("/spec/syncPolicy/automated/prune", "/status/resources")
        return AutoSync(reason=AutoSyncReason.PRUNE_ONLY, cites=cites)
    return None


def _refused_again(
    app: Object, automated: Object, attempt: Attempt, attempts: int, now: datetime, backoff: SelfHealBackoff
) -> AutoSync | None:
    if attempt.phase != Phase.SUCCEEDED:
        message = text(dig(app, "status", "operationState", "message"))
        return AutoSync(
            reason=AutoSyncReason.FAILED_BEFORE,
            condition=f"Failed last sync attempt to {_go_list(attempt.revisions)}: {message}",
            cites=("/status/operationState/phase", "/status/operationState/message"),
        )
    if automated.get("selfHeal") is not True:
        cites = ("/spec/syncPolicy/automated/selfHeal", "/status/operationState/syncResult")
        return AutoSync(reason=AutoSyncReason.SYNCED_BEFORE, cites=cites)
    wait = self_heal_remaining_backoff(app, attempts, now, backoff)
    if wait > timedelta():
        cites = ("/status/operationState/operation/sync/autoHealAttemptsCount",)
        return AutoSync(reason=AutoSyncReason.BACKING_OFF, retry_in=wait, cites=cites)
    return None


def _operation(spec: Object, automated: Object, status: Object, healed: Object) -> Object:
    """The operation that the controller writes; self-heal syncs only resources that are out of sync."""
    policy = fields(spec.get("syncPolicy"))
    sync: Object = {**healed}
    if has_multiple_sources(spec):
        sync |= {"sources": spec.get("sources"), "revisions": status.get("revisions")}
    else:
        sync |= {"source": source_of(spec), "revision": text(status.get("revision"))}
    if automated.get("prune") is True:
        sync["prune"] = True
    options = items(policy.get("syncOptions"))
    if options:
        sync["syncOptions"] = options
    retry = policy.get("retry")
    default: Object = {"limit": AUTOMATED_LIMIT}
    return {
        "sync": sync,
        "initiatedBy": {"automated": True},
        "retry": retry if isinstance(retry, dict) else default,
    }


def _out_of_sync_resources(rows: Sequence[Object]) -> list[Json]:
    """Resources to sync, without namespace: objects of the same name in other namespaces are synced too."""
    return [
        {key: value for key in ("group", "kind", "name") if (value := text(row.get(key)))}
        for row in rows
        if row.get("status") != "Synced"
    ]


def _go_list(revisions: Sequence[str]) -> str:
    return f"[{' '.join(revisions)}]"


def _time(value: Json) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else None
