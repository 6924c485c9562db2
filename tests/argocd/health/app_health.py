"""The health of an Application from its pairs, without the cache of the controller."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.health.application import AppHealth, ManagedPair, health_from, resource_health
from whysync.argocd.settings import Overrides
from whysync.json_tree import Object


def app_health(pairs: Iterable[ManagedPair], overrides: Overrides, *, app: Object | None = None) -> AppHealth:
    return health_from([resource_health(pair, overrides) for pair in pairs], app=app)
