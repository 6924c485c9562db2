"""External Secrets Operator."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    degraded,
    healthy,
    in_order,
    progressing,
    says,
    true_or_false,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "external-secrets.io"

_LAST: Final = in_order(
    says("Ready", "True", healthy("{message}")),
    says("PartiallyReady", "True", degraded("{message}")),
    says("NotReady", "True", degraded("{message}")),
)


def _by_last_condition(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
    """An empty list of conditions is an error of the script."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return None
    lua.length(entries)
    told = [entry for entry in entries if entry is not None] if isinstance(entries, list) else []
    return _LAST(obj, told[-1] if told else None)


def _waiting(kind: str) -> Step:
    return progressing(f"Waiting for {kind}")


CHECKS: Final[dict[str, Check]] = {
    "ClusterExternalSecret": in_order(_by_last_condition, _waiting("ClusterExternalSecret")),
    "ClusterSecretStore": in_order(true_or_false("Ready"), _waiting("ClusterSecretStore")),
    "ExternalSecret": in_order(true_or_false("Ready"), _waiting("ExternalSecret")),
    "PushSecret": in_order(true_or_false("Ready"), _waiting("PushSecret")),
    "SecretStore": in_order(true_or_false("Ready"), _waiting("SecretStore")),
}
