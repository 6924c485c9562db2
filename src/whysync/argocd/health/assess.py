"""The health of one object.

Mirrors gitops-engine `GetResourceHealth` with `ResourceHealthOverrides`, Argo CD 3.6, in this order: a
deletion timestamp; a script from argocd-cm, exact key before globs; a shipped check for custom kinds; a check
in Go for built-in kinds. Without any of them the object has no health.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin import builtin_check
from whysync.argocd.health.shipped import shipped_check
from whysync.argocd.health.shipped.lua import LuaError
from whysync.argocd.health.verdict import CannotJudge, HealthVerdict
from whysync.argocd.scripts.lua import Failed, LuaRunner, Returned
from whysync.argocd.settings.overrides import Overrides, ResourceOverride, health_override
from whysync.json_tree import Object, dig, items, text
from whysync.kubernetes.api.ref import group_of

_NO_OVERRIDES: Final[Overrides] = {}
_HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    verdict: HealthVerdict
    error: str | None = None
    """Set if the check failed: the verdict is Unknown, and the comparison reports this text."""


def health_of(
    obj: Object,
    overrides: Overrides = _NO_OVERRIDES,
    *,
    now: float | None = None,
) -> HealthVerdict | None:
    """`None` if there is no check. `overrides` are from the settings; `now` is the time for scripts."""
    assessed = assess(obj, overrides, now=now)
    return None if assessed is None else assessed.verdict


def assess(
    obj: Object,
    overrides: Overrides = _NO_OVERRIDES,
    *,
    lua: LuaRunner | None = None,
    now: float | None = None,
) -> Assessment | None:
    """Like `health_of`, with the error that upstream returns."""
    if _is_being_deleted(obj) and _HOOK_FINALIZER not in items(dig(obj, "metadata", "finalizers")):
        return Assessment(verdict=HealthVerdict(HealthCode.PROGRESSING, "Pending deletion"))
    group, kind = group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))
    override = health_override(overrides, group, kind)
    try:
        if override is not None:
            return Assessment(verdict=_run(override, obj, lua, now))
        shipped = shipped_check(group, kind)
        if shipped is not None:
            return Assessment(verdict=shipped(obj) or HealthVerdict(None))
    except (CannotJudge, LuaError) as problem:
        name = f"{text(dig(obj, 'metadata', 'namespace'))}/{text(dig(obj, 'metadata', 'name'))}"
        return _unknown(problem, f"failed to get resource health for {name}: {problem}")
    check = builtin_check(obj)
    if check is None:
        return None
    try:
        return Assessment(verdict=check(obj))
    except CannotJudge as problem:
        return _unknown(problem, str(problem))


def _unknown(problem: Exception, error: str) -> Assessment:
    return Assessment(verdict=HealthVerdict(HealthCode.UNKNOWN, str(problem)), error=error)


def _is_being_deleted(obj: Object) -> bool:
    stamp = dig(obj, "metadata", "deletionTimestamp")
    # Upstream ignores an invalid timestamp.
    return isinstance(stamp, str) and _TIME.fullmatch(stamp) is not None


def _run(override: ResourceOverride, obj: Object, lua: LuaRunner | None, now: float | None) -> HealthVerdict:
    if lua is None:
        from whysync.argocd.scripts.lua.process import lua_process

        lua = lua_process()
    return verdict_of(lua.run(override.health_lua, obj, open_libs=override.use_open_libs, now=now))


_CODES: Final = frozenset(HealthCode)


def verdict_of(result: Returned | Failed) -> HealthVerdict:
    """Mirrors `ExecuteHealthLua`, Argo CD 3.6.

    A field of the wrong type, as in `message = 5`, makes the whole result empty, and an empty result counts
    as Healthy. So do a list, an empty table and no result.
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
    # Go matches names case-insensitively, and the last one is used; they are sorted.
    values = {"status": "", "message": ""}
    for name, value in result.fields:
        if value is None:
            return HealthVerdict(None)
        values[name.lower()] = value
    if values["status"] not in _CODES:
        return HealthVerdict(HealthCode.UNKNOWN, "Lua returned an invalid health status")
    return HealthVerdict(HealthCode(values["status"]), values["message"])


# The health of single objects and the check that was used, without Application or cluster.


class StandaloneAssessor(StrEnum):
    """The check that Argo CD uses for a kind."""

    SETTINGS = "your Lua"
    SHIPPED = "shipped check"
    BUILTIN = "built-in"
    DELETION = "its deletion"
    NONE = "none"


class StandaloneHealth(msgspec.Struct, frozen=True, kw_only=True):
    verdict: HealthVerdict | None
    """`None` if there is no check for this kind."""
    by: StandaloneAssessor


def standalone_health(obj: Object, overrides: Overrides, *, now: float | None = None) -> StandaloneHealth:
    verdict = health_of(obj, overrides, now=now)
    return StandaloneHealth(verdict=verdict, by=_assessor(obj, overrides, verdict))


def _assessor(obj: Object, overrides: Overrides, verdict: HealthVerdict | None) -> StandaloneAssessor:
    group, kind = group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))
    if (
        verdict is not None
        and verdict.message == "Pending deletion"
        and text(dig(obj, "metadata", "deletionTimestamp"))
    ):
        return StandaloneAssessor.DELETION
    if health_override(overrides, group, kind) is not None:
        return StandaloneAssessor.SETTINGS
    if shipped_check(group, kind) is not None:
        return StandaloneAssessor.SHIPPED
    return StandaloneAssessor.BUILTIN if builtin_check(obj) is not None else StandaloneAssessor.NONE
