"""Report: one `AppReport` per Application, and groups of Applications with the same cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import EvidenceKey, Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import Side, Symptom, SymptomKind
from whysync.facts.snapshot import Gap
from whysync.json_tree import Json
from whysync.kubernetes.api.ref import Ref


class SyncSafety(StrEnum):
    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


class SyncOutcome(StrEnum):
    """How a sync would end; while one is running, how that one ends."""

    SUCCEEDS = "succeeds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class ReasonKind(StrEnum):
    """The kind of a reason; code branches on this, never on the text."""

    # the outcome
    REFUSED = "refused"
    SYNC_RUNNING = "sync-running"
    SYNC_FAILS = "sync-fails"
    FAILED_BEFORE = "failed-before"
    MAY_PASS = "may-pass"
    SYNC_HANGS = "sync-hangs"
    DOES_NOT_HELP = "does-not-help"
    DOES_NOT_LAST = "does-not-last"
    SYNC_LOOP = "sync-loop"
    STAYS_DEGRADED = "stays-degraded"
    # what it changes
    DELETES = "deletes"
    RECREATES = "recreates"
    DROPS_PODS = "drops-pods"
    REFUSES_PODS = "refuses-pods"
    RESTARTS_PODS = "restarts-pods"
    SCALES = "scales"
    UNDOES_MANUAL_CHANGE = "undoes-manual-change"
    SELF_HEALS = "self-heals"
    REPLACES_GENERATED_VALUE = "replaces-generated-value"
    OVERWRITES = "overwrites"
    TAKES_OVER = "takes-over"
    RUNS_HOOKS = "runs-hooks"
    CREATES = "creates"
    UPDATES = "updates"
    LEAVES_UNPRUNED = "leaves-unpruned"
    CHANGES_NOTHING = "changes-nothing"
    # why it is unknown
    NOT_COMPARED = "not-compared"
    NOT_RENDERED = "not-rendered"
    NOT_TRIED = "not-tried"
    SIMULATION_FAILED = "simulation-failed"
    MODEL_DIFFERS = "model-differs"
    OPERATOR_NOT_MODELED = "operator-not-modeled"
    FACTS_MISSING = "facts-missing"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    kind: ReasonKind
    text: str
    refs: tuple[Ref, ...] = ()


class Safety(msgspec.Struct, frozen=True, kw_only=True):
    """Is it safe to sync now, and would the sync succeed? `unknown` has a reason."""

    sync: SyncSafety
    outcome: SyncOutcome = SyncOutcome.UNKNOWN
    reasons: tuple[Reason, ...] = ()

    @staticmethod
    def unknown(kind: ReasonKind, why: str, outcome: SyncOutcome = SyncOutcome.UNKNOWN) -> Safety:
        return Safety(sync=SyncSafety.UNKNOWN, outcome=outcome, reasons=(Reason(kind=kind, text=why),))

    @staticmethod
    def refused(why: str) -> Safety:
        """Argo CD does not start the sync: nothing is lost."""
        reason = Reason(kind=ReasonKind.REFUSED, text=f"Argo CD would refuse it: {why}")
        return Safety(sync=SyncSafety.SAFE, outcome=SyncOutcome.FAILS, reasons=(reason,))


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    needs: tuple[str, ...]


class Crashed(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    error: str


def unread_symptoms(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Those with words that whysync does not know, and events of which it knows only the reason."""
    return tuple(
        symptom
        for symptom in symptoms
        if symptom.unread or (symptom.kind is SymptomKind.EVENT and symptom.raw)
    )


# Symptoms that are a state of the app or of a resource, with words next to it.
_STATES = frozenset(
    {
        SymptomKind.DIFFERS,
        SymptomKind.EXTRA,
        SymptomKind.MISSING,
        SymptomKind.OPERATION,
        SymptomKind.RESULT,
        SymptomKind.UNHEALTHY,
    }
)


class AppReport(msgspec.Struct, frozen=True, kw_only=True):
    case: Case
    side: Side
    findings: tuple[Finding, ...]
    unexplained: tuple[Symptom, ...]
    safety: Safety
    gaps: tuple[Gap, ...]
    skipped: tuple[Skipped, ...]
    crashed: tuple[Crashed, ...]
    unread: tuple[Symptom, ...]
    """The symptoms with words that no message of whysync knows."""

    @property
    def name(self) -> str:
        return self.case.app.name

    @property
    def first(self) -> Finding | None:
        return self.findings[0] if self.findings else None

    @property
    def not_understood(self) -> tuple[Symptom, ...]:
        """Texts that whysync does not recognize and that no finding explains or quotes.

        A finding that explains a state, such as Missing, does not thereby explain the words next to it, or
        an event of which only the reason is known.
        """
        explained = {id for finding in self.findings for id in finding.explains}
        unread = [
            symptom
            for symptom in self.unread
            if symptom.id not in explained or (symptom.unread and symptom.kind in _STATES)
        ]
        quoted = (
            "\n".join(words for finding in self.findings for words in _words_of(finding)) if unread else ""
        )
        return tuple(symptom for symptom in unread if symptom.raw not in quoted)

    @property
    def was_compared(self) -> bool:
        return bool(self.case.app.status.sync.status)

    @property
    def is_unsure(self) -> bool:
        """Was relevant evidence missing, so that no findings does not mean no problem?"""
        return bool(self.gaps or self.crashed) or not self.was_compared


def _words_of(finding: Finding) -> Iterator[str]:
    yield finding.verdict
    yield finding.root or ""
    for evidence in finding.evidence:
        if not _is_object(evidence.value):
            yield from _strings(evidence.value)


def _is_object(value: Json) -> bool:
    """A whole row or manifest, of which reports show only where it is."""
    return isinstance(value, dict) and "kind" in value


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One cause that several Applications share, with a common fix if there is one.

    `what` says it without the names of single objects; `checked`: each of the apps was diagnosed again with
    the fix, and none of them had the cause any more.
    """

    cause: str
    rule: str
    apps: tuple[str, ...]
    key: EvidenceKey | None = None
    what: str = ""
    fix: Fix | None = None
    checked: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    apps: tuple[AppReport, ...]
    groups: tuple[Group, ...]
    unread: tuple[Gap, ...] = ()
    # after Ctrl-C: how many apps are not in the report
    unfinished: int = 0
    interrupted: bool = False
