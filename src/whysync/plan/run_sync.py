"""One sync from its start to health or failure, with the retries that Argo CD would do."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from whysync.argocd.api.application import Retry
from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.sync.retry import AUTOMATED_LIMIT, BadBackoff, retry_delay
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.timeline import NeverSettles

_MAX_SYNC_TIME: Final = timedelta(hours=1)
_HEALTH: Final = timedelta(minutes=15)
_LOG_TIMES: Final = (timedelta(seconds=15), timedelta(seconds=45))
_ACCEPTABLE_HEALTH: Final = ("Healthy", "Suspended", "")
_MAX_ATTEMPTS: Final = 10
_EVENTS: Final = (("", "events"), ("events.k8s.io", "events"))


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a sync."""

    passed: bool
    message: str
    seconds: float
    notes: tuple[str, ...] = ()
    logs: tuple[Log, ...] = ()
    """Pods seen during the sync: those of a Job that reaches its deadline are deleted with their logs."""


def retry_of(application: Object) -> Retry:
    """The retry policy; an automated sync is retried even without one."""
    policy = fields(dig(application, "spec", "syncPolicy"))
    retry = policy.get("retry")
    if isinstance(retry, dict):
        return decode(retry, Retry)[0] or Retry()
    automated = policy.get("automated")
    is_on = isinstance(automated, dict) and automated.get("enabled") is not False
    return Retry(limit=AUTOMATED_LIMIT if is_on else 0)


def synced(simulation: Simulation, name: str, *, prune: bool, retry: Retry, before: str = "Healthy") -> Ended:
    """Run a sync; `before` is the app's health before it: unchanged health is not a failure of the commit."""
    return _Sync(simulation, name, prune, retry).run(before)


class _FailedAttempt(msgspec.Struct, frozen=True):
    message: str
    """Argo CD's message of the operation."""
    finished: bool

    def __str__(self) -> str:
        return f"the sync {'fails' if self.finished else 'does not finish'}{self._reason}"

    @property
    def in_past_tense(self) -> str:
        return f"{'failed' if self.finished else 'did not finish'}{self._reason}"

    @property
    def _reason(self) -> str:
        """Empty for an app that Argo CD does not reconcile: its operation has no message."""
        return f": {self.message}" if self.message else ""


class _Sync(msgspec.Struct):
    simulation: Simulation
    name: str
    prune: bool
    retry: Retry
    tries: int = 1
    since: int = 0
    """Number of writes to the cluster before the last attempt."""
    logs: dict[tuple[str, str, str], Log] = msgspec.field(default_factory=dict[tuple[str, str, str], Log])

    def run(self, before: str) -> Ended:
        argocd, clock = self.simulation.argocd, self.simulation.clock
        start = clock.now

        def ended(passed: bool, message: str, *notes: str) -> Ended:
            return Ended(
                passed=passed,
                message=message,
                seconds=(clock.now - start).total_seconds(),
                notes=notes,
                logs=tuple(self.logs.values()),
            )

        notes: list[str] = []
        try:
            self.simulation.timeline.settle()
            problem = _cannot_compare(argocd.status(self.name))
            if problem:
                return ended(False, problem)
            failure = self._try()
            if failure is not None:
                first = ended(False, str(failure))
                if not self._tried_again():
                    return first
                notes.append(f"it succeeds on attempt {self.tries}; the first {failure.in_past_tense}")
            self.simulation.until(lambda: argocd.sync_and_health(self.name)[1] in _ACCEPTABLE_HEALTH, _HEALTH)
            health = argocd.sync_and_health(self.name)[1]
        except Denied as refusal:
            return ended(False, f"Argo CD refuses the sync: {refusal.description}")
        except NeverSettles as problem:
            return ended(False, f"the simulation does not settle: {problem}")
        if health in _ACCEPTABLE_HEALTH:
            return ended(True, "", *notes)
        if health == before:
            return ended(True, "", *notes, f"the app was {health} before and remains so")
        return ended(False, f"the sync succeeds but the app becomes {health}", *notes)

    def _try(self) -> _FailedAttempt | None:
        """One attempt; returns why it failed."""
        argocd = self.simulation.argocd
        operation: Object = {"sync": {"prune": self.prune}, "retry": {"limit": 0}}
        self.since = len(self.simulation.api_server.store.journal)
        argocd.request_sync(self.name, operation)
        finished = False
        for duration in (*_LOG_TIMES, _MAX_SYNC_TIME):
            finished = self.simulation.until(
                lambda: "operation" not in argocd.applications[self.name], duration
            )
            if finished:
                break
            self.logs |= {
                (log.namespace, log.pod, log.container): log for log in snapshot_of(self.simulation).logs
            }
        state = fields(argocd.status(self.name).get("operationState"))
        message = text(state.get("message"))
        if finished and state.get("phase") == "Succeeded":
            return None
        return _FailedAttempt(message, finished=finished)

    def _tried_again(self) -> bool:
        """Retry as often as the policy allows, while each attempt finds a changed cluster.

        Otherwise the result would be the same.
        """
        limit = self.retry.limit if 0 <= self.retry.limit < _MAX_ATTEMPTS else _MAX_ATTEMPTS
        until = self.simulation.clock.now + _MAX_SYNC_TIME
        while self.tries <= limit and "operation" not in self.simulation.argocd.applications[self.name]:
            try:
                pause = retry_delay(self.retry, self.tries - 1)
            except BadBackoff:
                return False
            self.simulation.run(max(pause, timedelta(seconds=1)))
            writes = self.simulation.api_server.store.journal[self.since :]
            has_changed = any(change.object_key[0] not in _EVENTS for change in writes)
            if not has_changed or self.simulation.clock.now > until:
                return False
            self.tries += 1
            if self._try() is None:
                return True
        return False


def _cannot_compare(status: Object) -> str:
    for condition in map(fields, items(status.get("conditions"))):
        if condition.get("type") in ("ComparisonError", "InvalidSpecError"):
            return text(condition.get("message"))
    return ""
