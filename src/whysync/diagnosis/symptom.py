"""Symptom: something that is wrong with an Application, before its cause is known."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self

import msgspec

from whysync.kubernetes.api.ref import Key, Ref


class Side(StrEnum):
    """The step at which it went wrong.

    Argo CD could not compare; compared and found differences; failed to apply; applied but the app is
    unhealthy; or has not reconciled recently.
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
    SymptomKind.LOG: Side.NONE,  # depends on the rule that explains the line
    SymptomKind.BEHIND: Side.FRESH,
    SymptomKind.STALE: Side.FRESH,
}


class SymptomId(str):
    """The id of a symptom: its kind, the resource, and a detail that makes it unique.

    Reports show it as text. Only this class formats that text, and nothing parses it.
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
        id = super().__new__(cls, text)
        id.kind, id.key, id.detail, id.number = kind, key, detail, number
        return id

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
    id = str.__new__(SymptomId, text)
    id.kind, id.key, id.detail, id.number = kind, key, detail, number
    return id


# Symptoms of the app as a whole.
OPERATION: Final = SymptomId(SymptomKind.OPERATION)
MESSAGE_OF_SUCCESS: Final = SymptomId(SymptomKind.LOG, name="operation", detail="message")
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
    """`because` names symptoms that this one only repeats: it is explained when they are.

    `raw` is the text as reported, if whysync does not recognize it or only the reason of its event.
    `unread`: whysync does not recognize the text; reports quote it unless a finding explains it.
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
        """The text without its object, for output that already names the object."""
        return self.text.removeprefix(f"{self.ref}").lstrip(": ") if self.ref is not None else self.text
