"""What a finding claims where Argo CD shows nothing wrong: the claim itself is tried.

An ignored field that a sync overwrites, an object that nobody judges, a commit that nobody has seen: of these
Argo CD's status says nothing. So what is looked at is the field itself, the object's health, the commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from whysync.contracts.pointer import resolve
from whysync.contracts.ref import Key, ref_of
from whysync.contracts.tree import Missing, fields, items, same
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind
from whysync.proofs.signs import Signs, health_in, key_of
from whysync.proofs.watch import Watch

_CHECK = "resource.customizations.health."


class Claim(Protocol):
    @property
    def key(self) -> Key:
        """Of the object that it is about."""
        ...

    @property
    def shows_in_a_sync(self) -> bool: ...

    @property
    def brings(self) -> Signs:
        """What is to be seen once it is mended, and was hidden before."""
        ...

    def holds(self, watch: Watch, since: int = 0) -> bool:
        """`since`: a place in the journal of writes; what was before it does not count."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwritten:
    """Each sync gives the field Git's value, though somebody else holds it at another."""

    key: Key
    pointer: str
    shows_in_a_sync: bool = True
    brings: Signs = frozenset()

    def holds(self, watch: Watch, since: int = 0) -> bool:
        found = watch.world.before.get(self.key)
        if found is None:
            return False
        value = first = resolve(found, self.pointer)
        for number, one in enumerate(watch.world.simulation.model.store.journal):
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
        return frozenset({f"unhealthy:{self.key}", "unhealthy"})

    def holds(self, watch: Watch, since: int = 0) -> bool:  # noqa: ARG002  health has no past
        rows = map(fields, items(watch.world.status.get("resources")))
        return not any(health_in(watch.world, row) for row in rows if key_of(row) == self.key)


def claim_of(case: Case, finding: Finding, fix: Fix) -> Claim | None:
    """`None`: what it says shows in Argo CD's status, or nowhere."""
    if finding.severity is not Severity.INFO:
        return None
    key = finding.about.key
    live = case.live_of(key)
    if live is None:
        return None
    if fix.kind is FixKind.SETTINGS and any(_CHECK in edit.pointer for edit in fix.edits):
        return Unjudged(key=key)
    if finding.cause == "ignore-not-respected" and finding.field is not None:
        unset = isinstance(live.at(finding.field), Missing)
        return None if unset else Overwritten(key=key, pointer=finding.field)
    return None
