"""The health of single objects and the check that was used, without Application or cluster."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.argocd.health.assess import health_of
from whysync.argocd.health.builtin import builtin_check
from whysync.argocd.health.shipped import shipped_check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.settings import Overrides, health_override
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import group_of


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
