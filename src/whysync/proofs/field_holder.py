"""One who holds a field at a value: sees that it was changed, and some seconds later has written it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from whysync.diagnosis.fix import Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, same
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldField:
    ref: Ref
    pointer: str
    value: Json | Missing
    """Missing: it takes the field away."""
    who: str
    seconds: float


class FieldHolder:
    def __init__(self, model: ApiServer, held: HeldField) -> None:
        self._model = model
        self._held = held
        self._due: datetime | None = None
        self._seen = -1
        self.writes = 0
        """How often it had to write."""

    def reconcile(self) -> bool:
        journal = len(self._model.store.journal)
        if self._due is None and journal == self._seen:
            return False
        self._seen = journal
        obj = self._object()
        if obj is None or not self._differs(obj):
            self._due = None
            return False
        now = self._model.clock.now
        if self._due is None:
            self._due = now + timedelta(seconds=self._held.seconds)
        if now < self._due:
            return False
        self._due = None
        return self._write(obj)

    def next_wakeup(self) -> datetime | None:
        return self._due

    def _object(self) -> Object | None:
        resource = self._model.discovery.of_object(
            {"apiVersion": self._held.ref.api_version, "kind": self._held.ref.kind}
        )
        if resource is None:
            return None
        space = self._held.ref.namespace if resource.namespaced else ""
        return self._model.store.get((resource.store, space, self._held.ref.name))

    def _differs(self, obj: Object) -> bool:
        found = pointers.resolve(obj, self._held.pointer)
        value = self._held.value
        if isinstance(value, Missing) or isinstance(found, Missing):
            return (value is MISSING) != (found is MISSING)
        return not same(found, value)

    def _write(self, obj: Object) -> bool:
        value = self._held.value
        edit = (
            Remove(pointer=self._held.pointer)
            if isinstance(value, Missing)
            else Set(pointer=self._held.pointer, value=value)
        )
        resource = self._model.discovery.of_object(obj)
        if resource is None:
            return False
        space = f"namespaces/{self._held.ref.namespace}/" if resource.namespaced else ""
        root = "api" if not resource.group else "apis"
        path = f"/{root}/{resource.api_version}/{space}{resource.plural}/{self._held.ref.name}"
        answer = self._model.send(
            Request(verb="update", path=path, body=edited(obj, [edit]), manager=self._held.who)
        )
        self.writes += answer.ok
        return answer.ok
