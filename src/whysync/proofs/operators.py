"""Operators of custom resources, as far as anybody can play them without knowing them.

One that reported on an object does so again when the object changes: it has seen the new generation. A new
object gets the status of a healthy one of its kind, where there is one. Of others nothing is known: `unknown`
has their keys, so that nobody takes their silence for a failure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.diagnosis.case import Case
from whysync.json_tree import Object, dig, fields, integer, text
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Place

_AFTER: Final = timedelta(seconds=3)
_OBSERVED: Final = "observedGeneration"


class Operators:
    def __init__(self, case: Case, model: ApiServer) -> None:
        self._case = case
        self._model = model
        self._read = len(model.store.journal)
        self._due: dict[Place, datetime] = {}
        self.unknown: set[Key] = set()

    def reconcile(self) -> bool:
        journal, now = self._model.store.journal, self._model.clock.now
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.type != "DELETED" and self._is_custom(change.place):
                self._due.setdefault(change.place, now + _AFTER)
        written = False
        for place, due in list(self._due.items()):
            if due <= now:
                del self._due[place]
                written = self._report(place) or written
        return written

    def next_wakeup(self) -> datetime | None:
        return min(self._due.values(), default=None)

    def _is_custom(self, place: Place) -> bool:
        resource = self._model.discovery.of_store(place[0])
        return resource is not None and resource.custom

    def _report(self, place: Place) -> bool:
        obj = self._model.store.get(place)
        if obj is None:
            return False
        status, generation = fields(obj.get("status")), integer(dig(obj, "metadata", "generation"))
        if not status:
            status = self._of_another(obj)
            if not status:
                self.unknown.add(ref_of(obj).key)
                return False
        elif _OBSERVED not in status or integer(status.get(_OBSERVED)) >= generation:
            return False
        new: Object = {**status, _OBSERVED: generation} if _OBSERVED in status else status
        self._model.keep(place, {**obj, "status": new}, manager=f"{text(obj.get('kind')).lower()}-operator")
        return True

    def _of_another(self, obj: Object) -> Object:
        """The status of a healthy object of the same kind."""
        ref = ref_of(obj)
        for other in self._case.live_of_kind(ref.kind):
            if other.ref.group == ref.group and other.status:
                verdict = self._case.health_of(other)
                if verdict is not None and verdict.code is HealthCode.HEALTHY:
                    return other.status
        return {}
