"""The stored Applications; each change queues a refresh and is recorded in the trace.

Mirrors the informer's event handlers of the application controller, Argo CD 3.6: each change of an
Application queues it for refresh, and for its operation if one is requested or running.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from whysync.argocd.app_controller.auto_sync import COMPLETED
from whysync.argocd.app_controller.need_refresh import should_process_operation
from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.comparison import Memory
from whysync.argocd.hooks import wave_of
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.clock import Clock

# The queue entries and caches that the controller has for one Application.


class QueueState(msgspec.Struct, kw_only=True):
    """Mirrors the controller's queues, Argo CD 3.6: a queue has at most one entry per app."""

    queued: bool = True
    """Is the app in the refresh queue? Whether a refresh is due is auto_sync_reason when it is processed."""
    level: CompareWith | None = None
    """The highest refresh level that was requested since the last refresh."""
    delayed: dict[CompareWith, datetime] = msgspec.field(default_factory=dict[CompareWith, datetime])
    expires_at: datetime | None = None
    """When the comparison expires."""
    operate_at: datetime | None = None
    not_before: datetime | None = None
    """The end of the delay between two sync waves."""
    idle_inputs: tuple[object, ...] | None = None
    """The inputs of the last sync step, if it changed nothing."""
    repo_error_since: datetime | None = None
    auto_sync_reason: str = ""
    """The last decision of auto-sync."""
    waits_for: str = ""
    """What the deletion of the app waits for."""
    memory: Memory = msgspec.field(default_factory=Memory)
    memory_inputs: tuple[object, ...] = ()
    """The inputs for which `memory` is valid."""
    compared: bool = False
    targets: Sequence[Object] = ()
    """The manifests of the last refresh, with tracking metadata; empty if rendering failed."""
    _waves: tuple[Sequence[Object], dict[tuple[str, str, str], int]] | None = None

    def waves(self) -> dict[tuple[str, str, str], int]:
        """The sync wave of each object in Git, by group, kind and name."""
        if self._waves is None or self._waves[0] is not self.targets:
            refs = ((ref_of(target), target) for target in self.targets)
            waves = {(ref.group, ref.kind, ref.name): wave_of(target) for ref, target in refs}
            self._waves = self.targets, waves
        return self._waves[1]

    def request_refresh(self, level: CompareWith) -> None:
        self.level = level if self.level is None else max(self.level, level)
        self.queued = True

    def request_refresh_at(self, level: CompareWith, at: datetime) -> None:
        queued_at = self.delayed.get(level)
        self.delayed[level] = at if queued_at is None else min(queued_at, at)

    def enqueue_operation(self, at: datetime) -> None:
        """Adds the app to the operation queue; an earlier entry stays."""
        self.operate_at = at if self.operate_at is None else min(self.operate_at, at)

    def due_times(self) -> list[datetime]:
        times = list(self.delayed.values())
        if self.expires_at is not None:
            times.append(self.expires_at)
        if self.operate_at is not None:
            times.append(
                self.operate_at if self.not_before is None else max(self.operate_at, self.not_before)
            )
        return times

    def enqueue_due(self, now: datetime) -> None:
        """Moves delayed entries that are due into the refresh queue."""
        for level, at in list(self.delayed.items()):
            if at <= now:
                self.request_refresh(level)
                del self.delayed[level]
        if self.expires_at is not None and self.expires_at <= now:
            self.queued = True
            self.expires_at = None

    def is_operation_due(self, now: datetime) -> bool:
        return (
            self.operate_at is not None
            and self.operate_at <= now
            and (self.not_before is None or self.not_before <= now)
        )


class NoSuchApp(KeyError):
    pass


class AppRegistry:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.applications: dict[str, Object] = {}
        self.queues: dict[str, QueueState] = {}
        self.trace: list[TraceEvent] = []
        self._serial = 0

    def name_of(self, app: str) -> str:
        """The qualified name of an app, from that or from its unqualified name. Raises `NoSuchApp`."""
        if app in self.applications:
            return app
        matching = [name for name in self.applications if name.rpartition("/")[2] == app]
        if len(matching) != 1:
            raise NoSuchApp(app)
        return matching[0]

    def add(self, application: Object) -> str:
        """Adds an Application, or updates an existing one, whose status stays."""
        meta = fields(application.get("metadata"))
        name = f"{text(meta.get('namespace'))}/{text(meta.get('name'))}"
        spec = fields(application.get("spec"))
        if not spec.get("project"):
            spec = {**spec, "project": "default"}
        before = self.applications.get(name)
        if before is not None:
            merged_meta = {**fields(before.get("metadata")), **meta}
            self.save(name, {**before, **application, "metadata": merged_meta, "spec": spec})
            return name
        self._serial += 1
        number = self._serial
        new_meta: Object = {
            "uid": f"{number:08x}-0000-4000-9000-{number:012x}",
            "creationTimestamp": go_time(self.clock.now),
            **meta,
            "generation": integer(meta.get("generation"), 1),
        }
        type_meta: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
        stored = self.applications[name] = {**type_meta, **application, "metadata": new_meta, "spec": spec}
        self.queues[name] = QueueState()
        if should_process_operation(stored):
            self.queues[name].enqueue_operation(self.clock.now)
        return name

    def drop(self, name: str) -> None:
        del self.applications[name]
        del self.queues[name]

    def save(self, name: str, after: Object) -> bool:
        """Stores the changed Application; false if nothing changed."""
        before = self.applications[name]
        if before == after:
            return False
        meta = fields(after.get("metadata"))
        self.applications[name] = {
            **after,
            "metadata": {**meta, "generation": integer(meta.get("generation"), 1) + 1},
        }
        queue = self.queues[name]
        queue.queued = True
        if _automated(after) > _automated(before):
            queue.request_refresh(CompareWith.CompareWithLatest)
        if should_process_operation(after):
            queue.enqueue_operation(self.clock.now)
        self.trace += self._change_events(name, before, after)
        return True

    def trace_event(self, app: str, kind: TraceKind, text: str = "", *, status: str = "") -> None:
        self.trace.append(TraceEvent(at=self.clock.now, app=app, kind=kind, text=text, status=status))

    # --- trace events of a change ----------------------------------------------------------------

    def _change_events(self, name: str, before: Object, after: Object) -> Iterator[TraceEvent]:
        now = self.clock.now
        old, new = fields(before.get("status")), fields(after.get("status"))
        if _codes(old) != _codes(new):
            yield TraceEvent(
                at=now, app=name, kind=TraceKind.STATUS, text=", ".join(_codes(new)), status=_codes(new)[0]
            )
        previous, current = _conditions(old), _conditions(new)
        for type, message in current:
            if (type, message) not in previous:
                yield TraceEvent(at=now, app=name, kind=TraceKind.CONDITION, text=message, status=type)
        for type in dict.fromkeys(type for type, _ in previous):
            if type not in {current_type for current_type, _ in current}:
                yield TraceEvent(at=now, app=name, kind=TraceKind.CLEARED, text=type, status=type)
        yield from self._operation_events(name, now, old, new)

    def _operation_events(self, name: str, now: datetime, old: Object, new: Object) -> Iterator[TraceEvent]:
        before, after = fields(old.get("operationState")), fields(new.get("operationState"))
        if before == after or not after:
            return
        phase, message = text(after.get("phase")), text(after.get("message"))
        has_started = before.get("startedAt") != after.get("startedAt")
        if has_started:
            yield TraceEvent(
                at=now, app=name, kind=TraceKind.STARTED, text=_operation_text(after), phase=phase
            )
        finished_before = before.get("finishedAt")
        # a retry discards the previous results
        is_retry = finished_before is not None and finished_before != after.get("finishedAt")
        yield from self._result_events(name, now, {} if has_started or is_retry else before, after)
        if phase == text(before.get("phase")) and message == text(before.get("message")) and not has_started:
            return
        if phase in COMPLETED:
            kind = TraceKind.ENDED
        elif after.get("finishedAt") is not None:
            kind = TraceKind.RETRY
        else:
            kind = TraceKind.STEP
        if message or kind is TraceKind.ENDED:
            yield TraceEvent(at=now, app=name, kind=kind, text=message, phase=phase)

    def _result_events(self, name: str, now: datetime, before: Object, after: Object) -> Iterator[TraceEvent]:
        waves = self.queues[name].waves()
        previous = {_result_key(row): row for row in _rows(before)}
        for row in _rows(after):
            if previous.get(_result_key(row)) == row:
                continue
            ref = Ref(
                group=text(row.get("group")),
                version=text(row.get("version")),
                kind=text(row.get("kind")),
                namespace=text(row.get("namespace")),
                name=text(row.get("name")),
            )
            yield TraceEvent(
                at=now,
                app=name,
                kind=TraceKind.RESULT,
                text=text(row.get("message")),
                about=ref,
                phase=text(row.get("syncPhase")),
                wave=waves.get((ref.group, ref.kind, ref.name)),
                status=text(row.get("hookPhase")) or text(row.get("status")),
            )


def _rows(state: Object) -> list[Object]:
    return [fields(row) for row in items(dig(state, "syncResult", "resources"))]


def _result_key(row: Object) -> tuple[str, ...]:
    return tuple(text(row.get(key)) for key in ("group", "kind", "namespace", "name", "syncPhase"))


def _operation_text(state: Object) -> str:
    sync = fields(dig(state, "operation", "sync"))
    revisions = [text(revision) for revision in items(sync.get("revisions"))] or [text(sync.get("revision"))]
    initiator = fields(dig(state, "operation", "initiatedBy"))
    user = "automated" if initiator.get("automated") is True else text(initiator.get("username"))
    target = ", ".join(revision for revision in revisions if revision) or "the newest commit"
    return f"sync to {target} ({user or 'somebody'})"


def _automated(app: Object) -> tuple[bool, bool]:
    automated = dig(app, "spec", "syncPolicy", "automated")
    if not isinstance(automated, dict) or automated.get("enabled") is False:
        return False, False
    return True, automated.get("selfHeal") is True


def _codes(status: Object) -> tuple[str, str]:
    return text(dig(status, "sync", "status")), text(dig(status, "health", "status"))


def _conditions(status: Object) -> list[tuple[str, str]]:
    conditions = (fields(condition) for condition in items(status.get("conditions")))
    return [(text(condition.get("type")), text(condition.get("message"))) for condition in conditions]
