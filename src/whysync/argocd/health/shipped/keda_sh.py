"""KEDA: what scales on events."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_HEALTHY = ("Ready", "True")
_PAUSED = ("Paused", "True")


def _scaled(*, bad: tuple[tuple[str, str], ...], waiting: str) -> Check:
    """All conditions are heard; the last one that matters has the word, the worst one the verdict."""

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        heard: list[Json] = []
        said: Json = None
        for condition in lua.ipairs(entries) if entries is not None else ():
            what = (lua.at(condition, "type"), lua.at(condition, "status"))
            sign = DEGRADED if what in bad else HEALTHY if what == _HEALTHY else SUSPENDED
            if sign is not SUSPENDED or what == _PAUSED:
                heard.append(sign)
                said = lua.at(condition, "message")
        if DEGRADED in heard:
            return verdict(DEGRADED, said)
        if HEALTHY in heard:
            return verdict(SUSPENDED if SUSPENDED in heard else HEALTHY, said)
        return HealthVerdict(PROGRESSING, waiting)

    return check


GROUP = "keda.sh"
CHECKS: dict[str, Check] = {
    "ScaledJob": _scaled(bad=(("Ready", "False"), ("Ready", "Unknown")), waiting="Waiting for ScaledJob"),
    "ScaledObject": _scaled(
        bad=(("Ready", "False"), ("Fallback", "True")), waiting="Creating HorizontalPodAutoscaler Object"
    ),
}
