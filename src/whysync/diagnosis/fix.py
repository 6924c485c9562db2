"""Fix: what to change, where, and its risk. `fixes/` turns it into patches and commands."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.file_location import FileLocation
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref


class FixKind(StrEnum):
    APPLICATION = "application"
    PROJECT = "project"
    MANIFEST = "manifest"
    SETTINGS = "settings"
    POLICY = "policy"
    COMMAND = "command"


class ProofStatus(StrEnum):
    """Proven: in the simulation, the symptom occurs without the fix and does not occur with it.

    Likely: the same, but the result depends on something that is not in the facts.
    """

    PROVEN = "proven"
    LIKELY = "likely"
    NOT_RUN = "not-run"


class ProofKind(StrEnum):
    """The basis of a proof, or why there is none."""

    HOLDS = "holds"
    FACTS_MISSING = "facts-missing"
    PLAIN_SYNC_HELPS = "plain-sync-helps"
    UNTIL_NEXT_SYNC = "until-next-sync"
    HOLDS_BACK_RELEASES = "holds-back-releases"
    NOT_TRIED = "not-tried"
    OUT_OF_TIME = "out-of-time"
    OTHER_CAUSE = "other-cause"
    SIMULATION_FAILED = "simulation-failed"
    OPERATOR_NOT_MODELED = "operator-not-modeled"
    NOT_EXECUTABLE = "not-executable"
    NOT_REPRODUCED = "not-reproduced"
    NOTHING_TO_FIX = "nothing-to-fix"
    ENDS_BY_ITSELF = "ends-by-itself"
    NO_EFFECT = "no-effect"
    REFUSED = "refused"
    READ_ONLY = "read-only"
    HUMAN_DECISION = "human-decision"


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """`rounds`: reconciliations in which the fix lasted; `why`: the missing fact, or why it was not run.

    `trace` lists the simulated events without the fix, then with it.
    """

    status: ProofStatus = ProofStatus.NOT_RUN
    kind: ProofKind = ProofKind.NOT_TRIED
    rounds: int = 0
    why: str = ""
    trace: tuple[str, ...] = ()


NOT_TRIED = Proof(why="it was not simulated")


class Set(msgspec.Struct, frozen=True, kw_only=True):
    """Set `value` at `pointer`, creating missing maps."""

    pointer: str
    value: Json


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str


class Add(msgspec.Struct, frozen=True, kw_only=True):
    """Append `value` to the list at `pointer`, unless the list contains it."""

    pointer: str
    value: Json


Edit = Set | Remove | Add


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """One fix. Exactly one of `edits`, `drops`, `create`, `line` and `commands` is set.

    `edits` change the object `target`; `drops` deletes its manifest from Git; `create` is a new object for
    Git; `line` is added to `policy.csv`. `afterwards` are commands to run after the sync, without which the
    change has no effect. `in_source`: a new object belongs in the app's source, also if it is a permission.
    `then_commit`: the commands only look, and what they show has to be corrected in Git.
    A fix that `keeps_meaning` only changes the notation: `lint --fix` applies it. `location` is the line that
    it changes, if the files of the source are known.
    """

    title: str
    kind: FixKind
    target: Ref | None = None
    edits: tuple[Edit, ...] = ()
    drops: bool = False
    create: Object | None = None
    in_source: bool = False
    line: str = ""
    commands: tuple[str, ...] = ()
    then_commit: bool = False
    afterwards: tuple[str, ...] = ()
    risk: str = ""
    destroys: tuple[str, ...] = ()
    keeps_meaning: bool = False
    proof: Proof = NOT_TRIED
    location: FileLocation | None = None

    @staticmethod
    def remove(ref: Ref, *pointers: str, title: str, risk: str = "") -> Fix:
        """Delete fields from a manifest in Git."""
        edits = tuple(Remove(pointer=pointer) for pointer in pointers)
        return Fix(title=title, kind=FixKind.MANIFEST, target=ref, edits=edits, risk=risk)

    @staticmethod
    def change(
        ref: Ref,
        *edits: Edit,
        title: str,
        risk: str = "",
        destroys: tuple[str, ...] = (),
        keeps_meaning: bool = False,
    ) -> Fix:
        """Edit a manifest in Git."""
        return Fix(
            title=title,
            kind=FixKind.MANIFEST,
            target=ref,
            edits=edits,
            risk=risk,
            destroys=destroys,
            keeps_meaning=keeps_meaning,
        )

    @staticmethod
    def drop(ref: Ref, *, title: str, risk: str = "") -> Fix:
        """Delete the whole manifest from Git."""
        return Fix(title=title, kind=FixKind.MANIFEST, target=ref, drops=True, risk=risk)

    @staticmethod
    def application(ref: Ref, *edits: Edit, title: str, risk: str = "") -> Fix:
        return Fix(title=title, kind=FixKind.APPLICATION, target=ref, edits=edits, risk=risk)

    @staticmethod
    def project(ref: Ref, *edits: Edit, title: str, risk: str = "") -> Fix:
        return Fix(title=title, kind=FixKind.PROJECT, target=ref, edits=edits, risk=risk)

    @staticmethod
    def new(manifest: Object, *, title: str, risk: str = "", in_source: bool = False) -> Fix:
        """Add a new object to Git."""
        return Fix(title=title, kind=FixKind.MANIFEST, create=manifest, risk=risk, in_source=in_source)

    @staticmethod
    def policy(line: str, *, title: str, risk: str = "") -> Fix:
        """Add a line to `policy.csv` in `argocd-rbac-cm`."""
        return Fix(title=title, kind=FixKind.POLICY, line=line, risk=risk)

    @staticmethod
    def run(
        *commands: str,
        title: str,
        risk: str = "",
        destroys: tuple[str, ...] = (),
        then_commit: bool = False,
    ) -> Fix:
        """Commands for the user to run, in order."""
        return Fix(
            title=title,
            kind=FixKind.COMMAND,
            commands=commands,
            then_commit=then_commit,
            risk=risk,
            destroys=destroys,
        )
