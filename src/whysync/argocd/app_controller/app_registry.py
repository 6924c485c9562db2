"""The Applications as they are stored, and what every change of one sets in motion.

Mirrors the informer's handlers of the application controller, Argo CD 3.6: whoever changes an Application,
the controller looks at it again; where an operation is under way, its next step comes at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from whysync.argocd.app_controller.auto_sync import COMPLETED
from whysync.argocd.app_controller.need_refresh import should_process_operation
from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.app_controller.queue_state import QueueState
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.compare.app_status import go_time
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.clock import Clock


class NoSuchApp(KeyError):
    pass


class AppRegistry:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.applications: dict[str, Object] = {}
        self.records: dict[str, QueueState] = {}
        self.trace: list[TraceEvent] = []
        self._serial = 0

    def name_of(self, app: str) -> str:
        """The qualified name of an app that may be called by its bare name. Raises `NoSuchApp`."""
        if app in self.applications:
            return app
        matching = [name for name in self.applications if name.rpartition("/")[2] == app]
        if len(matching) != 1:
            raise NoSuchApp(app)
        return matching[0]

    def add(self, application: Object) -> str:
        """Adds an Application, or updates one that is applied again and keeps its status."""
        meta = fields(application.get("metadata"))
        name = f"{text(meta.get('namespace'))}/{text(meta.get('name'))}"
        spec = fields(application.get("spec"))
        if not spec.get("project"):
            spec = {**spec, "project": "default"}
        before = self.applications.get(name)
        if before is not None:
            known = {**fields(before.get("metadata")), **meta}
            self.save(name, {**before, **application, "metadata": known, "spec": spec})
            return name
        self._serial += 1
        number = self._serial
        made: Object = {
            "uid": f"{number:08x}-0000-4000-9000-{number:012x}",
            "creationTimestamp": go_time(self.clock.now),
            **meta,
            "generation": integer(meta.get("generation"), 1),
        }
        whole: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
        kept = self.applications[name] = {**whole, **application, "metadata": made, "spec": spec}
        self.records[name] = QueueState()
        if should_process_operation(kept):
            self.records[name].operate(self.clock.now)
        return name

    def drop(self, name: str) -> None:
        del self.applications[name]
        del self.records[name]

    def save(self, name: str, after: Object) -> bool:
        """Keeps the Application as changed; false where nothing changed."""
        before = self.applications[name]
        if before == after:
            return False
        meta = fields(after.get("metadata"))
        self.applications[name] = {
            **after,
            "metadata": {**meta, "generation": integer(meta.get("generation"), 1) + 1},
        }
        record = self.records[name]
        record.queued = True
        if _automated(after) > _automated(before):
            record.ask(CompareWith.CompareWithLatest)
        if should_process_operation(after):
            record.operate(self.clock.now)
        self.trace += self._moments(name, before, after)
        return True

    def say(self, app: str, what: TraceKind, text: str = "", *, status: str = "") -> None:
        self.trace.append(TraceEvent(at=self.clock.now, app=app, what=what, text=text, status=status))

    # --- what is told of a change ----------------------------------------------------------------

    def _moments(self, name: str, before: Object, after: Object) -> Iterator[TraceEvent]:
        now = self.clock.now
        old, new = fields(before.get("status")), fields(after.get("status"))
        if _codes(old) != _codes(new):
            yield TraceEvent(at=now, app=name, what=TraceKind.STATUS, text=", ".join(_codes(new)))
        known, current = _conditions(old), _conditions(new)
        for type, message in current:
            if (type, message) not in known:
                yield TraceEvent(at=now, app=name, what=TraceKind.CONDITION, text=message, status=type)
        for type in dict.fromkeys(type for type, _ in known):
            if type not in {current_type for current_type, _ in current}:
                yield TraceEvent(at=now, app=name, what=TraceKind.CLEARED, text=type, status=type)
        yield from self._operation_moments(name, now, old, new)

    def _operation_moments(self, name: str, now: datetime, old: Object, new: Object) -> Iterator[TraceEvent]:
        before, after = fields(old.get("operationState")), fields(new.get("operationState"))
        if before == after or not after:
            return
        phase, message = text(after.get("phase")), text(after.get("message"))
        begun = before.get("startedAt") != after.get("startedAt")
        if begun:
            yield TraceEvent(at=now, app=name, what=TraceKind.STARTED, text=_wanted(after), phase=phase)
        ended = before.get("finishedAt")
        again = ended is not None and ended != after.get("finishedAt")  # a retry drops what there was
        yield from self._results(name, now, {} if begun or again else before, after)
        if phase == text(before.get("phase")) and message == text(before.get("message")) and not begun:
            return
        if phase in COMPLETED:
            what = TraceKind.ENDED
        elif after.get("finishedAt") is not None:
            what = TraceKind.RETRY
        else:
            what = TraceKind.STEP
        if message or what is TraceKind.ENDED:
            yield TraceEvent(at=now, app=name, what=what, text=message, phase=phase)

    def _results(self, name: str, now: datetime, before: Object, after: Object) -> Iterator[TraceEvent]:
        waves = self.records[name].waves()
        known = {_result_key(row): row for row in _rows(before)}
        for row in _rows(after):
            if known.get(_result_key(row)) == row:
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
                what=TraceKind.RESULT,
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


def _wanted(state: Object) -> str:
    sync = fields(dig(state, "operation", "sync"))
    revisions = [text(revision) for revision in items(sync.get("revisions"))] or [text(sync.get("revision"))]
    by = fields(dig(state, "operation", "initiatedBy"))
    who = "automated" if by.get("automated") is True else text(by.get("username")) or "somebody"
    return (
        f"sync to {', '.join(revision for revision in revisions if revision) or 'the newest commit'} ({who})"
    )


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
