"""Conditions of an Application from one comparison to the next.

Mirrors `ApplicationStatus.SetConditions`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from whysync.argocd.api.application import Condition


def set_conditions(
    existing: Iterable[Condition], incoming: Iterable[Condition], evaluated: Collection[str], now: datetime
) -> tuple[Condition, ...]:
    """Types that were looked at are replaced, others stay; an unchanged message keeps its time."""
    before = tuple(existing)
    found = [_timed(one, now) for one in before if one.type not in evaluated]
    for condition in incoming:
        # upstream looks at the first of its type only
        old = next((one for one in before if one.type == condition.type), None)
        same = old is not None and old.message == condition.message
        found.append(old if same and old is not None else _timed(condition, now))
    return tuple(sorted(found, key=lambda one: (one.type, one.message, str(one.last_transition_time))))


def _timed(condition: Condition, now: datetime) -> Condition:
    if condition.last_transition_time is not None:
        return condition
    return msgspec.structs.replace(condition, last_transition_time=now)
