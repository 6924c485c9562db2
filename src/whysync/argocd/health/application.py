"""The health of an Application: the worst health of its resources, with exceptions.

Mirrors `setApplicationHealth`, `formatHealthCauses` and the health part of `persistAppStatus`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import assess
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks import is_hook, is_skipped
from whysync.argocd.scripts.lua import LuaRunner
from whysync.argocd.settings.overrides import Overrides
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import Key, group_of

_IGNORE: Final = "argocd.argoproj.io/ignore-healthcheck"
_GROUP, _KIND = "argoproj.io", "Application"
_MOST_CAUSES: Final = 3
_MISSING: Final = HealthVerdict(HealthCode.MISSING)
_RANK: Final = {code: rank for rank, code in enumerate(HealthCode)}


class ManagedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A target and its live object, of which one may be missing."""

    key: Key
    target: Object | None
    live: Object | None


class AppHealth(msgspec.Struct, frozen=True, kw_only=True):
    code: HealthCode
    message: str
    """`Caused by …`; empty if the app is Healthy or has no live object."""
    rows: tuple[HealthVerdict | None, ...]
    """In the order of the pairs; `None` if a resource shows no health."""
    causes: tuple[Key, ...] = ()
    error: str | None = None
    """Becomes a ComparisonError `error setting app health: …`."""


class ResourceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of one resource to the health of its app; depends on its two objects only."""

    key: Key
    live: Object | None
    verdict: HealthVerdict | None = None
    """`None` if it has no health, or if an annotation excludes it."""
    error: str | None = None


def resource_health(
    pair: ManagedPair, overrides: Overrides, *, lua: LuaRunner | None = None, now: float | None = None
) -> ResourceHealth | None:
    """`None` if it is not part of the app's health, such as a hook."""
    target, live = pair.target, pair.live
    if (target is not None and is_skipped(target)) or (live is not None and is_hook(live)):
        return None
    if live is None or _is_ignored(live):
        return ResourceHealth(key=pair.key, live=live)
    assessed = assess(live, overrides, lua=lua, now=now)
    if assessed is None:
        return ResourceHealth(key=pair.key, live=live)
    error = None if assessed.error is None else _row_error(live, assessed.error)
    return ResourceHealth(key=pair.key, live=live, verdict=assessed.verdict, error=error)


def health_from(parts: Sequence[ResourceHealth | None], *, app: Object | None = None) -> AppHealth:
    """The health of an app; its rows have the order of the parts."""
    worst = HealthCode.HEALTHY
    causes: list[Key] = []
    rows: list[HealthVerdict | None] = [None] * len(parts)
    error: str | None = None
    any_resource = any_live = False
    for index, part in enumerate(parts):
        if part is None:
            continue
        any_resource = True
        if part.live is None:
            # Shown as Missing, but without effect on the health of the app, which is OutOfSync already.
            rows[index] = _MISSING
            continue
        any_live = True
        if part.verdict is None or (app is not None and _is_same_app(app, part.live)):
            continue
        rows[index] = part.verdict
        error = error or part.error
        code = part.verdict.code
        if _is_application(part.key) and code in (HealthCode.MISSING, HealthCode.UNKNOWN):
            continue
        if code is not None and is_worse(code, than=worst):
            worst, causes = code, [part.key]
        elif code == worst and worst is not HealthCode.HEALTHY:
            causes.append(part.key)
    if any_resource and not any_live and is_worse(HealthCode.MISSING, than=worst):
        worst, causes = HealthCode.MISSING, []
    return AppHealth(
        code=worst, message=health_causes(causes), rows=tuple(rows), causes=tuple(causes), error=error
    )


def is_worse(code: HealthCode, *, than: HealthCode) -> bool:
    return _RANK[code] > _RANK[than]


def health_causes(causes: Iterable[Key]) -> str:
    """`Caused by apps/Deployment:shop/web, … and 2 more`, or empty."""
    names = [_cause(key) for key in causes]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_CAUSES} more" if len(names) > _MOST_CAUSES else ""
    return f"Caused by {', '.join(names[:_MOST_CAUSES])}{more}"


def health_status(before: Object | None, after: AppHealth, *, persisted: bool, now: str) -> Object:
    """The new `status.health`; `persisted`: rows contain their health (a setting).

    If they do not, a message stays until the code changes, and may be outdated.
    """
    old = before or {}
    status: Object = {"status": str(after.code)}
    if old.get("status") != after.code:
        status["lastTransitionTime"] = now
        message = after.message
    else:
        if old.get("lastTransitionTime") is not None:
            status["lastTransitionTime"] = old["lastTransitionTime"]
        message = after.message if persisted else text(old.get("message"))
    if message:
        status["message"] = message
    return status


def _cause(key: Key) -> str:
    kind = f"{key.group}/{key.kind}" if key.group else key.kind
    return f"{kind}:{key.namespace}/{key.name}" if key.namespace else f"{kind}:{key.name}"


def _is_application(key: Key) -> bool:
    return key.kind == _KIND and key.group == _GROUP


def _is_ignored(live: Object) -> bool:
    return fields(dig(live, "metadata", "annotations")).get(_IGNORE) == "true"


def _is_same_app(app: Object, live: Object) -> bool:
    if live.get("kind") != _KIND or group_of(text(live.get("apiVersion"))) != _GROUP:
        return False
    return all(
        text(dig(app, "metadata", name)) == text(dig(live, "metadata", name))
        for name in ("uid", "name", "namespace")
    )


def _row_error(live: Object, error: str) -> str:
    kind, name = text(live.get("kind")), text(dig(live, "metadata", "name"))
    namespace = text(dig(live, "metadata", "namespace"))
    return (
        f'failed to get resource health for "{kind}" with name "{name}" in namespace "{namespace}": {error}'
    )
