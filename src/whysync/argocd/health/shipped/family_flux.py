"""How Flux objects are judged: by counting what their conditions say.

An object is busy when Ready is not settled *and* it is Reconciling, and done when enough of the
conditions it lives by are True. Everything between is Degraded, even an empty list of conditions.
"""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Step,
    is_,
    progressing,
    suspended,
    verdict,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

SUSPENDED_BY_SPEC = when(is_(".spec.suspend", True), then=suspended("{.kind} is suspended"))
STATUS_UNKNOWN = progressing("Status unknown")


def counted(
    *,
    unsettled: str = "Unknown",
    busy: HealthCode = PROGRESSING,
    busy_reasons: tuple[str, ...] = (),
    also_true: tuple[str, ...] = (),
    tells_outdated: bool = False,
) -> Step:
    """The verdict of `.status.conditions`; `None` where there are none.

    `unsettled` is the status of Ready while Flux works; `busy_reasons`, where given, are the only reasons of
    Reconciling that count. `also_true` names conditions of which one, besides Ready, has to be True.
    """
    enough = 2 if also_true else 1

    def ask(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return None
        working = done = 0
        message: Json = ""
        for condition in lua.ipairs(entries):
            kind, status = lua.at(condition, "type"), lua.at(condition, "status")
            reason = lua.at(condition, "reason")
            if kind == "Ready":
                done += status == "True"
                working += status == unsettled
                message = reason
            elif status != "True":
                continue
            elif kind == "Reconciling":
                working += not busy_reasons or reason in busy_reasons
            elif tells_outdated and kind == "ArtifactOutdated":
                message = lua.concat(message, " ", reason)
            else:
                done += kind in also_true
        code = busy if working == 2 else HEALTHY if done == enough else DEGRADED
        return verdict(code, message)

    return ask
