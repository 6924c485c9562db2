"""A finding: one cause, the symptoms that it explains, the evidence for it, and the ways out."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import Side
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        return _SEVERITIES.index(self)


class Confidence(StrEnum):
    """High: nothing else fits the evidence. Medium: it fits best. Low: it would explain it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        return _CONFIDENCES.index(self)


_SEVERITIES = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)
_CONFIDENCES = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


class RejectedFix(msgspec.Struct, frozen=True, kw_only=True):
    """A way out that was tried on a model of the cluster, and does not help."""

    title: str
    why: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule yields. The runner adds `id`, `rule`, `cause`, `side` and `caused_by`.

    `because` names symptoms whose cause is also the cause of this finding (a stalled wave waits for a
    Deployment: whatever explains that Deployment's health is the root).
    """

    about: Ref
    verdict: str
    confidence: Confidence
    severity: Severity = Severity.WARNING
    explains: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    field: str | None = None
    writer: Writer | None = None
    root: str | None = None
    id: str = ""
    rule: str = ""
    cause: str = ""
    side: Side = Side.NONE
    caused_by: tuple[str, ...] = ()
    rejected_fixes: tuple[RejectedFix, ...] = ()
