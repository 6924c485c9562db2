"""Health by a script from argocd-cm: what its answer means."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.problems import CannotJudge
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.scripts.lua import Failed, Returned

_CODES: Final = frozenset(HealthCode)


def verdict_of(result: Returned | Failed) -> HealthVerdict:
    """Mirrors `ExecuteHealthLua`, Argo CD 3.6, with what surprises in it.

    A field of the wrong type, as in `message = 5`, makes the whole answer empty, and an empty answer counts
    as Healthy. So do a list, an empty table and no answer at all.
    """
    if isinstance(result, Failed):
        raise CannotJudge(result.message)
    match result.type:
        case "nil" | "array":
            return HealthVerdict(None)
        case "table":
            return _from_fields(result)
        case other:
            raise CannotJudge(f"expect table output from Lua script, not {other}")


def _from_fields(result: Returned) -> HealthVerdict:
    # Go matches names in any case and lets the last one win; they come sorted.
    found = {"status": "", "message": ""}
    for name, value in result.fields:
        if value is None:
            return HealthVerdict(None)
        found[name.lower()] = value
    if found["status"] not in _CODES:
        return HealthVerdict(HealthCode.UNKNOWN, "Lua returned an invalid health status")
    return HealthVerdict(HealthCode(found["status"]), found["message"])
