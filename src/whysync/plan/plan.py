"""What a plan comes to, as values: for each Application its runs, its changes, and what was assumed."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.report import Safety
from whysync.facts.snapshot import Gap, Snapshot
from whysync.kubernetes.api.ref import Ref


class PlannedCluster(StrEnum):
    """On which cluster the sync was run."""

    EMPTY = "empty"
    BASE = "base"
    LIVE = "live"


class ChangeKind(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    RECREATE = "recreate"
    PRUNE = "prune"
    KEEP = "keep"
    """Gone from Git, and left in the cluster: pruning is off."""
    HOOK = "hook"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One resource. `risk` is what is lost or interrupted.

    `renamed` joins the halves of a rename: the name before of what is made, the new one of what goes.
    """

    sort: ChangeKind
    ref: Ref
    risk: str = ""
    fields: tuple[str, ...] = ()
    """Pointers of what differs; no values."""
    renamed: Ref | None = None
    origin: str = ""
    """File and line, or the template that makes it."""


class State(StrEnum):
    DONE = "done"
    FAILED = "failed"
    WAITING = "waiting"
    NOT_REACHED = "not-reached"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    ref: Ref
    state: State
    note: str = ""
    hook: bool = False
    waits_for: Ref | None = None
    """What it plainly cannot do without, such as the Service that a hook calls."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One wave of one phase."""

    phase: str
    wave: int
    items: tuple[Item, ...]
    began: float | None = None
    """Seconds after the start of the sync; `None` where it was never reached."""
    ended: float | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The sync of the head on one cluster."""

    ground: PlannedCluster
    passed: bool
    message: str
    """Why it failed, in a sentence; empty where it passed."""
    seconds: float
    """On the virtual clock."""
    steps: tuple[Step, ...] = ()
    safety: Safety | None = None
    notes: tuple[str, ...] = ()
    """What was taken for granted."""
    snapshot: Snapshot | None = None
    """What a bundle would hold afterwards; masked."""


class AppPlan(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Qualified, as `argocd/shop`."""
    file: str
    runs: tuple[Run, ...] = ()
    changes: tuple[Change, ...] = ()
    safety: Safety | None = None
    notes: tuple[str, ...] = ()
    unseen: tuple[Gap, ...] = ()
    """What of the live cluster could not be read."""

    @property
    def passed(self) -> bool:
        return all(run.passed for run in self.runs)

    @property
    def decisive(self) -> Run | None:
        """The run to explain: the first that failed, else the first."""
        return next((run for run in self.runs if not run.passed), self.runs[0] if self.runs else None)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    base: str
    head: str
    apps: tuple[AppPlan, ...]
    """Those that the commit touches."""
    untouched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(app.passed for app in self.apps)
