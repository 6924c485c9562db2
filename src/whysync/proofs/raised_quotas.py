"""Quotas that are raised: what they allow counts at once, and what they refused is asked again.

What they say is used stays as it was seen, since most of what they count is not part of the world: so the
model's own controller, which would count anew, is not at work here.
"""

from __future__ import annotations

from whysync.diagnosis.case import Case
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.resource_quota import QUOTAS
from whysync.messages.patterns.apply import QuotaExceeded
from whysync.proofs.refusals import Refusal, Refusals
from whysync.queries.already_fixed import has_room


class Quotas:
    def __init__(self, case: Case, model: ApiServer, refusals: Refusals) -> None:
        self._case = case
        self._store = model.store
        self._refusals = refusals
        self._seen = self._store.writes(QUOTAS)

    def reconcile(self) -> bool:
        if self._store.writes(QUOTAS) == self._seen:
            return False
        written = False
        for place, obj in list(self._store.within(QUOTAS)):
            hard, status = fields(dig(obj, "spec", "hard")), fields(obj.get("status"))
            if hard != fields(status.get("hard")):
                self._store.put(place, {**obj, "status": {**status, "hard": hard}})
                written = True
        self._refusals.lift(self._is_over)
        self._seen = self._store.writes(QUOTAS)
        return written

    def next_wakeup(self) -> None:
        """It acts on changes alone."""

    def _is_over(self, refusal: Refusal) -> bool:
        failure = refusal.failure
        if not isinstance(failure, QuotaExceeded) or not failure.quota or not failure.requested:
            return False
        quota = self._named(refusal.ref.namespace or self._case.destination_namespace, failure.quota)
        return quota is not None and has_room(quota, failure.requested)

    def _named(self, namespace: str, name: str) -> Object | None:
        return self._store.get((QUOTAS, namespace, name))
