"""Something that a person would ask about, read off the Case by code that does not guess."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.kubernetes.api.ref import Ref


class Side(StrEnum):
    """Where it went wrong: the question that must be answered before all others.

    Argo CD could not compare, compared and differs, applied and failed, applied and is unhealthy, or has
    not looked (lately, or at the right thing).
    """

    COMPARE = "compare"
    DRIFT = "drift"
    APPLY = "apply"
    HEALTH = "health"
    FRESH = "fresh"
    NONE = "none"


class SymptomKind(StrEnum):
    CONDITION = "condition"
    OPERATION = "operation"
    RESULT = "result"
    DIFFERS = "differs"
    MISSING = "missing"
    EXTRA = "extra"
    UNHEALTHY = "unhealthy"
    EVENT = "event"
    LOG = "log"
    BEHIND = "behind"
    STALE = "stale"


SIDE_OF_KIND = {
    SymptomKind.CONDITION: Side.COMPARE,
    SymptomKind.OPERATION: Side.APPLY,
    SymptomKind.RESULT: Side.APPLY,
    SymptomKind.DIFFERS: Side.DRIFT,
    SymptomKind.MISSING: Side.DRIFT,
    SymptomKind.EXTRA: Side.DRIFT,
    SymptomKind.UNHEALTHY: Side.HEALTH,
    SymptomKind.EVENT: Side.HEALTH,
    SymptomKind.LOG: Side.COMPARE,
    SymptomKind.BEHIND: Side.FRESH,
    SymptomKind.STALE: Side.FRESH,
}


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """`because` names symptoms of which this one is only the echo: it is explained when they are."""

    id: str
    kind: SymptomKind
    text: str
    ref: Ref | None = None
    because: tuple[str, ...] = ()
    side: Side = Side.NONE
