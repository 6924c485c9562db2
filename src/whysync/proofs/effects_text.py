"""One sentence on what a sync does, how much it weighs, and the words that all such sentences share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from whysync.diagnosis.report import Reason, ReasonKind
from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.ref import Ref

_LONGEST: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectText:
    kind: ReasonKind
    text: str
    refs: tuple[Ref, ...] = ()
    weight: int = 0
    unsafe: bool = False
    unknown: bool = False

    @property
    def reason(self) -> Reason:
        return Reason(kind=self.kind, text=self.text, refs=self.refs)


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(refs: Sequence[Ref], most: int = 2) -> str:
    shown = [str(ref) for ref in refs[:most]]
    if len(refs) > most:
        return f"{', '.join(shown)} and {len(refs) - most} more"
    return " and ".join(shown)


def brief(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return short(words, 40)


def short(words: str, longest: int = _LONGEST) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def ago(age: timedelta) -> str:
    return f"{span(age)} ago"


def span(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for size, unit, limit in ((1, "s", 120), (60, "min", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86400} d"
