"""What all kinds of GitOps Promoter have in common: deletion, and the Ready condition.

The kinds differ in their words. Those of a `plain` kind are all made from its name; the newer kinds,
`typed`, write some of their messages with the kind and some with a name for what they do.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, PROGRESSING, Step
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


class Words(msgspec.Struct, frozen=True, kw_only=True):
    initializing: str
    deleting: str
    stale: str
    not_ready_yet: str
    failed: str
    failed_with_reason: str
    unclear: str | None = None  # plain kinds take an Unknown Ready for a good one


def plain(name: str, *, end: str = "") -> Words:
    title = name[0].upper() + name[1:]
    return Words(
        initializing=f"Initializing {name}",
        deleting=f"{title} is being deleted{end}",
        stale=f"Waiting for {name} spec update to be observed",
        not_ready_yet=f"{title} is not ready yet",
        failed=f"{title} reconciliation failed",
        failed_with_reason=f"{title} reconciliation failed",
    )


def typed(kind: str, doing: str, *, title: str, failed: str, unclear: str, end: str = "") -> Words:
    return Words(
        initializing=f"Initializing {doing}",
        deleting=f"{kind} is being deleted{end}",
        stale=f"Waiting for {kind} spec update to be observed",
        not_ready_yet=f"{kind} Ready condition is missing",
        failed=f"{title} {failed}",
        failed_with_reason=f"{title} not ready",
        unclear=f"{title} {unclear}",
    )


def readiness(
    words: Words,
    *,
    finalizers: Mapping[str, tuple[str, str]] | None = None,
    conditions: tuple[str, ...] = ("Ready",),
) -> Step:
    """Decides unless the object is ready; then the rest of its status has the word.

    `finalizers` tells of each what it waits for, and what happens if somebody removes it.
    """

    def ask(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
        if lua.truthy(lua.named(obj, "metadata", "deletionTimestamp")):
            holding = lua.named(obj, "metadata", "finalizers") if finalizers is not None else None
            return HealthVerdict(PROGRESSING, _deletion(words.deleting, holding, finalizers or {}))
        status = lua.at(obj, "status")
        if not lua.truthy(status):
            return HealthVerdict(PROGRESSING, words.initializing)
        entries, seen = lua.at(status, "conditions"), False
        for condition in lua.ipairs(entries) if lua.truthy(entries) else ():
            if lua.at(condition, "type") in conditions:
                seen = True
                decided = _not_ready(words, obj, condition)
                if decided is not None:
                    return decided
        return None if seen else HealthVerdict(PROGRESSING, words.not_ready_yet)

    return ask


def _not_ready(words: Words, obj: Object, condition: Json) -> HealthVerdict | None:
    observed = lua.at(condition, "observedGeneration")
    if lua.truthy(observed):
        generation = lua.named(obj, "metadata", "generation")
        if lua.truthy(generation) and not lua.same(observed, generation):
            return HealthVerdict(PROGRESSING, words.stale)
    status, said = lua.at(condition, "status"), lua.at(condition, "message")
    reason = _or(lua.at(condition, "reason"), "Unknown")
    if status == "False":
        said = _or(said, "Unknown error")
        if reason == "ReconciliationError":
            return HealthVerdict(DEGRADED, lua.concat(words.failed, ": ", said))
        return HealthVerdict(DEGRADED, lua.concat(words.failed_with_reason, " (", reason, "): ", said))
    if status == "Unknown" and words.unclear is not None:
        return HealthVerdict(
            PROGRESSING, lua.concat(words.unclear, " (", reason, "): ", _or(said, "Unknown"))
        )
    return None


def _deletion(said: str, holding: Json, known: Mapping[str, tuple[str, str]]) -> str:
    for name in lua.ipairs(holding) if lua.truthy(holding) else ():
        if isinstance(name, str) and name in known:
            waiting, risk = known[name]
            said += f" {name}: {waiting} Risk if removed manually: {risk}"
    return said


def _or(value: Json, otherwise: str) -> Json:
    return value if lua.truthy(value) else otherwise
