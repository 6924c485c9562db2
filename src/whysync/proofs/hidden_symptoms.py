"""Problems that Argo CD's status does not show, and how a simulation can show them.

Examples: an ignored field that a sync overwrites, a value that Argo CD does not compare, an object without a
health check, an app that is not reconciled. They are read from the field, the health of the object or the
time of the last comparison.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.symptom import APP_UNHEALTHY, SymptomId, SymptomKind
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, fields, items, same
from whysync.kubernetes.api.pointer import resolve
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.proofs.observations import Observer, SymptomIds, health_in, key_of
from whysync.queries.timestamps import instant

_HEALTH_CHECK = "resource.customizations.health."


class HiddenSymptom(Protocol):
    @property
    def key(self) -> Key:
        """The object that has the problem."""
        ...

    @property
    def needs_sync(self) -> bool:
        """Does the problem show only in a sync?"""
        ...

    @property
    def reveals(self) -> SymptomIds | None:
        """Symptoms that the fix may bring to light; `None`: any."""
        ...

    def present_without_fix(self, observer: Observer) -> bool:
        """Does the simulation show the problem without the fix?"""
        ...

    def present_with_fix(self, observer: Observer, since: int = 0) -> bool:
        """Does the problem remain with the fix? `since` is an index in the journal of writes."""
        ...


class IgnoredFieldOverwritten(msgspec.Struct, frozen=True, kw_only=True):
    """Each sync overwrites a field that an ignore rule covers and another writer sets."""

    key: Key
    pointer: str
    needs_sync: bool = True
    reveals: SymptomIds = frozenset()

    def present_without_fix(self, observer: Observer) -> bool:
        return self.present_with_fix(observer)

    def present_with_fix(self, observer: Observer, since: int = 0) -> bool:
        obj = observer.world.before.get(self.key)
        if obj is None:
            return False
        value = initial = resolve(obj, self.pointer)
        for index, change in enumerate(observer.world.simulation.api_server.store.journal):
            if ref_of(change.obj).key != self.key:
                continue
            previous, value = value, resolve(change.obj, self.pointer)
            if index >= since and same(previous, initial) and not same(value, initial):
                return True
        return False


class HealthNotAssessed(msgspec.Struct, frozen=True, kw_only=True):
    """Argo CD does not assess the health of the object."""

    key: Key
    needs_sync: bool = False

    @property
    def reveals(self) -> SymptomIds:
        return frozenset({SymptomId.unhealthy(self.key), APP_UNHEALTHY})

    def present_without_fix(self, observer: Observer) -> bool:
        return self.present_with_fix(observer)

    def present_with_fix(self, observer: Observer, since: int = 0) -> bool:  # noqa: ARG002  only the current health counts
        rows = map(fields, items(observer.world.status.get("resources")))
        return not any(health_in(observer.world, row) for row in rows if key_of(row) == self.key)


class UndetectedDrift(msgspec.Struct, frozen=True, kw_only=True):
    """A value was written outside Git and Argo CD's diff does not show it.

    `desired` is Git's value with the fix. With `by_hand` the fix leaves Git as it is and removes the value.
    """

    key: Key
    pointer: str
    live: Json | Missing
    desired: Json | Missing
    by_hand: bool
    needs_sync: bool = False
    reveals: SymptomIds = frozenset()

    def present_without_fix(self, observer: Observer) -> bool:
        return same(self._current_value(observer), self.live)

    def present_with_fix(self, observer: Observer, since: int = 0) -> bool:  # noqa: ARG002  only the final value counts
        value = self._current_value(observer)
        return same(value, self.live) if self.by_hand else not same(value, self.desired)

    def _current_value(self, observer: Observer) -> Json | Missing:
        obj = observer.world.objects().get(self.key)
        return resolve(obj, self.pointer) if obj is not None else MISSING


class NotReconciled(msgspec.Struct, frozen=True, kw_only=True):
    """Argo CD does not reconcile the app, so its status is stale."""

    key: Key
    commit_pending: bool
    """There is a commit that Argo CD has not rendered yet."""
    needs_sync: bool = False
    reveals: None = None

    def present_without_fix(self, observer: Observer) -> bool:
        return self.present_with_fix(observer)

    def present_with_fix(self, observer: Observer, since: int = 0) -> bool:  # noqa: ARG002  the last comparison counts
        compared = instant(observer.world.status.get("reconciledAt"))
        return compared is None or compared < observer.started_at


def hidden_symptom_of(case: Case, finding: Finding, fix: Fix) -> HiddenSymptom | None:
    """The hidden problem of the finding; `None` if Argo CD's status shows it, or nothing does."""
    key = finding.about.key
    if finding.cause == "skip-reconcile":
        return NotReconciled(
            key=key, commit_pending=any(symptom.kind is SymptomKind.BEHIND for symptom in finding.explains)
        )
    live, desired = case.live_of(key), case.desired_of(key)
    if finding.severity is not Severity.INFO or live is None:
        return None
    if finding.cause == "undetected-drift" and finding.field is not None and desired is not None:
        return UndetectedDrift(
            key=key,
            pointer=finding.field,
            live=live.at(finding.field),
            desired=resolve(edited(desired.body, fix.edits), finding.field),
            by_hand=bool(fix.commands),
        )
    if fix.kind is FixKind.SETTINGS and any(_HEALTH_CHECK in edit.pointer for edit in fix.edits):
        return HealthNotAssessed(key=key)
    if finding.cause == "ignore-not-respected" and finding.field is not None:
        unset = isinstance(live.at(finding.field), Missing)
        return None if unset else IgnoredFieldOverwritten(key=key, pointer=finding.field)
    return None
