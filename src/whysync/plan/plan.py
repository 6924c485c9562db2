"""The values of a plan: for each Application its runs, its changes, and the assumptions."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import Safety, SyncSafety
from whysync.facts.snapshot import Gap, Snapshot
from whysync.fixes.diffs import USUAL_CONTEXT, unified
from whysync.fixes.files import FileChange
from whysync.kubernetes.api.ref import Ref


class PlannedCluster(StrEnum):
    """The cluster on which the sync was simulated."""

    EMPTY = "empty"
    BASE = "base"
    LIVE = "live"


class Verdict(StrEnum):
    """The verdict of an app or of a whole plan; the worst comes first."""

    FAIL = "fail"
    DELETE = "delete"
    """It deletes an Application, data, or what is still in use, or it is unsafe in another way."""
    UNKNOWN = "unknown"
    PASS = "pass"


class ChangeKind(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    RECREATE = "recreate"
    PRUNE = "prune"
    KEEP = "keep"
    """Removed from Git but kept in the cluster: pruning is disabled."""
    HOOK = "hook"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one resource. `risk` is what is lost or interrupted.

    `renamed` links the halves of a rename: the old name for the new object, the new name for the old one.
    """

    sort: ChangeKind
    ref: Ref
    risk: str = ""
    fields: tuple[str, ...] = ()
    """Pointers to differing fields, without values."""
    renamed: Ref | None = None
    origin: str = ""
    """File and line, or the template that renders it."""
    is_harmful: bool = False
    """It deletes data, an address, or what is still in use: a reason not to merge."""
    users: tuple[Ref, ...] = ()
    """Objects that stay in Git and use what is deleted."""


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
    """What it evidently needs, such as the Service that a hook calls."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One wave of one phase."""

    phase: str
    wave: int
    items: tuple[Item, ...]
    began: float | None = None
    """Seconds after the start of the sync; `None` if it was not reached."""
    ended: float | None = None


class AssumptionKind(StrEnum):
    """What a plan takes for granted about a cluster."""

    EXISTS = "exists"
    """An object that the commit does not contain."""
    SERVED = "served"
    """A custom kind whose CRD the commit does not contain: any value is valid."""
    OPERATOR = "operator"
    """The operator of a custom kind makes its objects healthy."""
    PERMISSIONS = "permissions"
    """The account of the sync may do everything."""
    PROJECT = "project"
    """An AppProject that the files do not contain permits what the app deploys."""


class Assumption(msgspec.Struct, frozen=True, kw_only=True, order=True):
    kind: AssumptionKind
    of: str = ""
    """The kind of the objects."""
    name: str = ""
    """The name of the object, if it is about one."""

    def __str__(self) -> str:
        match self.kind:
            case AssumptionKind.EXISTS:
                return f"{self.of} {self.name} is assumed to exist"
            case AssumptionKind.SERVED:
                return f"the cluster is assumed to serve {self.of}: its values are not checked"
            case AssumptionKind.OPERATOR:
                return f"the operator of {self.of} is assumed to work"
            case AssumptionKind.PERMISSIONS:
                return "the account of the sync is assumed to have the permissions that it needs"
            case AssumptionKind.PROJECT:
                return f"AppProject {self.of} is assumed to permit what the app deploys"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The sync of the head on one cluster."""

    cluster: PlannedCluster
    passed: bool
    message: str
    """Why it failed, in one sentence; empty if it passed."""
    seconds: float
    """Simulated time."""
    steps: tuple[Step, ...] = ()
    safety: Safety | None = None
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    """What a bundle would contain afterwards; masked."""
    unknown_objects: tuple[str, ...] = ()
    """Kind and name of objects that nothing in Git creates; the run assumes that they exist."""
    fails_as_base: bool = False
    """It fails, but so does the base there: the commit is not the reason."""


class PlannedFix(msgspec.Struct, frozen=True, kw_only=True):
    """A fix as a change of the checkout."""

    fix: Fix
    change: FileChange | None = None
    """`None` if no single file can be edited, or if its diff would show secrets."""
    context: int = USUAL_CONTEXT
    """Lines around a change that show no secret."""
    location: FileLocation | None = None
    """The first line that it changes."""
    hint: str = ""
    """What to change instead."""

    @property
    def diff(self) -> str:
        """For `git apply`."""
        change = self.change
        if change is None:
            return ""
        return unified(change.path, change.before, change.after, context=self.context)


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an app would fail. The `location` of the finding is in the checkout."""

    finding: Finding
    fixes: tuple[PlannedFix, ...] = ()


class AppPlan(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Qualified name, such as `argocd/shop`."""
    file: str
    application_set: str = ""
    """The name of the ApplicationSet in `file` that generates it."""
    root: str = ""
    """The file of the Application whose output contains it, if no file does."""
    runs: tuple[Run, ...] = ()
    changes: tuple[Change, ...] = ()
    safety: Safety | None = None
    notes: tuple[str, ...] = ()
    unseen: tuple[Gap, ...] = ()
    """What could not be read from the live cluster."""
    is_removed: bool = False
    """It is no longer in Git: Argo CD would delete it."""
    shares_name: bool = False
    """Another file has an Application of the same name."""
    causes: tuple[Cause, ...] = ()
    """Why it would fail, the most likely cause first."""
    location: FileLocation | None = None
    """The line of the checkout that the verdict is about; preferably one that the commit changes."""

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.file or self.root

    @property
    def title(self) -> str:
        short = self.name.partition("/")[2]
        place = self.file or self.root
        return f"{short} ({place})" if self.shares_name and place else short

    @property
    def verdict(self) -> Verdict:
        if not self.passed:
            return Verdict.FAIL
        if self.is_removed or (self.safety is not None and self.safety.sync is SyncSafety.UNSAFE):
            return Verdict.DELETE
        is_unknown = not self.runs or self.unseen
        if is_unknown or (self.safety is not None and self.safety.sync is SyncSafety.UNKNOWN):
            return Verdict.UNKNOWN
        return Verdict.PASS

    @property
    def passed(self) -> bool:
        return all(run.passed or run.fails_as_base for run in self.runs)

    @property
    def decisive(self) -> Run | None:
        """The run to explain: the first one that fails because of the commit, or the first."""
        failed = (run for run in self.runs if not run.passed and not run.fails_as_base)
        return next(failed, self.runs[0] if self.runs else None)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    base: str
    head: str
    apps: tuple[AppPlan, ...]
    """Apps that the commit changes."""
    untouched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    not_planned: tuple[str, ...] = ()
    """What may contain further Applications, and why it is not known which."""

    @property
    def verdicts(self) -> frozenset[Verdict]:
        verdicts = {app.verdict for app in self.apps}
        return frozenset(verdicts | {Verdict.UNKNOWN}) if self.not_planned else frozenset(verdicts)

    @property
    def problems(self) -> tuple[Verdict, ...]:
        """The verdicts of its apps without those that pass, the worst first."""
        verdicts = self.verdicts
        return tuple(verdict for verdict in Verdict if verdict in verdicts and verdict is not Verdict.PASS)

    @property
    def verdict(self) -> Verdict:
        return next(iter(self.problems), Verdict.PASS)
