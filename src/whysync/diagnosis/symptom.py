"""Something that a person would ask about, read off the Case by code that does not guess."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self

import msgspec

from whysync.kubernetes.api.ref import Key, Ref


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
    STATE = "state"
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
    SymptomKind.STATE: Side.HEALTH,
    SymptomKind.LOG: Side.NONE,  # the rule that explains a line knows the side
    SymptomKind.BEHIND: Side.FRESH,
    SymptomKind.STALE: Side.FRESH,
}


class SymptomId(str):
    """Which symptom: its kind, the resource, and what tells it from others of that resource.

    It is the text under which reports show it. Only this class formats that text, and nothing parses it.
    """

    __slots__ = ("detail", "key", "kind", "number")
    kind: SymptomKind
    key: Key | None
    detail: str
    number: int | None

    def __new__(
        cls,
        kind: SymptomKind,
        key: Key | None = None,
        *,
        detail: str = "",
        number: int | None = None,
        name: str = "",
    ) -> Self:
        text = name or kind.value
        if key is not None:
            text = f"{text}:{key}"
        if detail:
            text = f"{text}:{detail}"
        if number is not None:
            text = f"{text}:{number}"
        made = super().__new__(cls, text)
        made.kind, made.key, made.detail, made.number = kind, key, detail, number
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (str(self), self.kind, self.key, self.detail, self.number)

    @staticmethod
    def condition(type: str, index: int | None = None) -> SymptomId:
        return SymptomId(SymptomKind.CONDITION, detail=type, number=index)

    @staticmethod
    def result(key: Key) -> SymptomId:
        return SymptomId(SymptomKind.RESULT, key)

    @staticmethod
    def differs(key: Key, pointer: str = "") -> SymptomId:
        return SymptomId(SymptomKind.DIFFERS, key, detail=pointer)

    @staticmethod
    def missing(key: Key) -> SymptomId:
        return SymptomId(SymptomKind.MISSING, key)

    @staticmethod
    def extra(key: Key) -> SymptomId:
        return SymptomId(SymptomKind.EXTRA, key)

    @staticmethod
    def unhealthy(key: Key) -> SymptomId:
        return SymptomId(SymptomKind.UNHEALTHY, key)


def _restored(text: str, kind: SymptomKind, key: Key | None, detail: str, number: int | None) -> SymptomId:
    made = str.__new__(SymptomId, text)
    made.kind, made.key, made.detail, made.number = kind, key, detail, number
    return made


# Of the app as a whole.
OPERATION: Final = SymptomId(SymptomKind.OPERATION)
DELETION: Final = SymptomId(SymptomKind.OPERATION, name="deletion")
NO_CONDITION: Final = SymptomId(SymptomKind.CONDITION, detail="none")
HYDRATION: Final = SymptomId(SymptomKind.CONDITION, name="hydration")
APP_DIFFERS: Final = SymptomId(SymptomKind.DIFFERS)
SYNC_LOOP: Final = SymptomId(SymptomKind.DIFFERS, name="looping")
APP_UNHEALTHY: Final = SymptomId(SymptomKind.UNHEALTHY)
OVERDUE: Final = SymptomId(SymptomKind.STALE)
NEVER_RECONCILED: Final = SymptomId(SymptomKind.STALE, detail="never")
RECONCILIATION_SKIPPED: Final = SymptomId(SymptomKind.STALE, detail="frozen")
APPLICATION_SET_FAILED: Final = SymptomId(SymptomKind.STALE, detail="set")


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """`because` names symptoms of which this one is only the echo: it is explained when they are.

    `raw` is the text as it was reported. `unread`: whysync does not understand it; reports quote it unless a
    finding explains it.
    """

    id: SymptomId
    text: str
    ref: Ref | None = None
    because: tuple[SymptomId, ...] = ()
    side: Side = Side.NONE
    raw: str = ""
    unread: bool = False

    @property
    def kind(self) -> SymptomKind:
        return self.id.kind

    @property
    def words(self) -> str:
        """The text without the object that it is about, for a place that names the object already."""
        return self.text.removeprefix(f"{self.ref}").lstrip(": ") if self.ref is not None else self.text
