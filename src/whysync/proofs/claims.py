"""What a finding claims where Argo CD shows nothing wrong: the claim itself is checked.

An ignored field that a sync overwrites, a value that Argo CD does not compare, an object without a health
check, an app that is not reconciled: Argo CD's status does not show these. The check reads the field, the
health of the object or the time of the last comparison instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.symptom import APP_UNHEALTHY, SymptomId, SymptomKind
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, fields, items, same
from whysync.kubernetes.api.pointer import resolve
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.proofs.observations import Observer, Signs, health_in, key_of
from whysync.queries.timestamps import instant

_CHECK = "resource.customizations.health."


class Claim(Protocol):
    @property
    def key(self) -> Key:
        """Of the object that it is about."""
        ...

    @property
    def shows_in_a_sync(self) -> bool: ...

    @property
    def brings(self) -> Signs | None:
        """What is to be seen once it is mended, and was hidden before; `None`: whatever it may be."""
        ...

    def shows(self, watch: Observer) -> bool:
        """Is it so without the fix?"""
        ...

    def holds(self, watch: Observer, since: int = 0) -> bool:
        """Is it so with the fix? `since`: a place in the journal of writes; what was before is left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwritten:
    """Each sync gives the field Git's value, though somebody else holds it at another."""

    key: Key
    pointer: str
    shows_in_a_sync: bool = True
    brings: Signs = frozenset()

    def shows(self, watch: Observer) -> bool:
        return self.holds(watch)

    def holds(self, watch: Observer, since: int = 0) -> bool:
        found = watch.world.before.get(self.key)
        if found is None:
            return False
        value = first = resolve(found, self.pointer)
        for number, one in enumerate(watch.world.simulation.api_server.store.journal):
            if ref_of(one.obj).key != self.key:
                continue
            before, value = value, resolve(one.obj, self.pointer)
            if number >= since and same(before, first) and not same(value, first):
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """Argo CD has no health for it, whatever it says of itself."""

    key: Key
    shows_in_a_sync: bool = False

    @property
    def brings(self) -> Signs:
        return frozenset({SymptomId.unhealthy(self.key), APP_UNHEALTHY})

    def shows(self, watch: Observer) -> bool:
        return self.holds(watch)

    def holds(self, watch: Observer, since: int = 0) -> bool:  # noqa: ARG002  health has no past
        rows = map(fields, items(watch.world.status.get("resources")))
        return not any(health_in(watch.world, row) for row in rows if key_of(row) == self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Somebody wrote a value beside Git, and Argo CD's diff does not show it.

    `wanted` is what Git says with the fix; for one that leaves Git as it is, the value has to go.
    """

    key: Key
    pointer: str
    found: Json | Missing
    wanted: Json | Missing
    by_hand: bool
    shows_in_a_sync: bool = False
    brings: Signs = frozenset()

    def shows(self, watch: Observer) -> bool:
        return same(self._now(watch), self.found)

    def holds(self, watch: Observer, since: int = 0) -> bool:  # noqa: ARG002  what it is at the end counts
        now = self._now(watch)
        return same(now, self.found) if self.by_hand else not same(now, self.wanted)

    def _now(self, watch: Observer) -> Json | Missing:
        found = watch.world.objects().get(self.key)
        return resolve(found, self.pointer) if found is not None else MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlooked:
    """Argo CD leaves the app alone, and its status grows old."""

    key: Key
    behind: bool
    """A commit waits that nobody has rendered."""
    shows_in_a_sync: bool = False
    brings: None = None

    def shows(self, watch: Observer) -> bool:
        return self.holds(watch)

    def holds(self, watch: Observer, since: int = 0) -> bool:  # noqa: ARG002  the last comparison counts
        compared = instant(watch.world.status.get("reconciledAt"))
        return compared is None or compared < watch.began


def claim_of(case: Case, finding: Finding, fix: Fix) -> Claim | None:
    """`None`: what it says shows in Argo CD's status, or nowhere."""
    key = finding.about.key
    if finding.cause == "skip-reconcile":
        return Unlooked(
            key=key, behind=any(explain.kind is SymptomKind.BEHIND for explain in finding.explains)
        )
    live, desired = case.live_of(key), case.desired_of(key)
    if finding.severity is not Severity.INFO or live is None:
        return None
    if finding.cause == "undetected-drift" and finding.field is not None and desired is not None:
        return Unseen(
            key=key,
            pointer=finding.field,
            found=live.at(finding.field),
            wanted=resolve(edited(desired.body, fix.edits), finding.field),
            by_hand=bool(fix.commands),
        )
    if fix.kind is FixKind.SETTINGS and any(_CHECK in edit.pointer for edit in fix.edits):
        return Unjudged(key=key)
    if finding.cause == "ignore-not-respected" and finding.field is not None:
        unset = isinstance(live.at(finding.field), Missing)
        return None if unset else Overwritten(key=key, pointer=finding.field)
    return None
