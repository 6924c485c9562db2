"""Certificates, secrets and policies: cert-manager, External Secrets, Sealed Secrets, 1Password, Kyverno."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    true_or_false,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# cert-manager: certificates and who issues them.

CHECKS["cert-manager.io"] = {
    # While a certificate is being renewed, its Ready condition is still True.
    "Certificate": in_order(
        conditions(condition_is("Issuing", "True", progressing("{message}"))),
        true_or_false("Ready"),
        progressing("Waiting for certificate"),
    ),
    "ClusterIssuer": in_order(true_or_false("Ready"), progressing("Initializing ClusterIssuer")),
    "Issuer": in_order(true_or_false("Ready"), progressing("Initializing issuer")),
}


# cert-manager before version 0.11, when it had another group.

CHECKS["certmanager.k8s.io"] = {
    "Certificate": in_order(true_or_false("Ready"), progressing("Waiting for certificate")),
    "Issuer": in_order(true_or_false("Ready"), progressing("Initializing issuer")),
}


# External Secrets Operator.

_LAST: Final = in_order(
    condition_is("Ready", "True", healthy("{message}")),
    condition_is("PartiallyReady", "True", degraded("{message}")),
    condition_is("NotReady", "True", degraded("{message}")),
)


def _by_last_condition(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
    """An empty list of conditions is an error of the script."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return None
    lua.length(entries)
    conditions = [entry for entry in entries if entry is not None] if isinstance(entries, list) else []
    return _LAST(obj, conditions[-1] if conditions else None)


def _waiting(kind: str) -> Step:
    return progressing(f"Waiting for {kind}")


CHECKS["external-secrets.io"] = {
    "ClusterExternalSecret": in_order(_by_last_condition, _waiting("ClusterExternalSecret")),
    "ClusterSecretStore": in_order(true_or_false("Ready"), _waiting("ClusterSecretStore")),
    "ExternalSecret": in_order(true_or_false("Ready"), _waiting("ExternalSecret")),
    "PushSecret": in_order(true_or_false("Ready"), _waiting("PushSecret")),
    "SecretStore": in_order(true_or_false("Ready"), _waiting("SecretStore")),
}


# The external secrets of kubernetes-client, the forerunner of external-secrets.io.


def _external_secret(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for ExternalSecret.")
    status = lua.at(obj, "status")
    if status is None:
        return waiting
    state = lua.at(status, "status")
    if state == "SUCCESS":
        return HealthVerdict(HEALTHY, "Fetched ExternalSecret.")
    if not isinstance(state, str):
        raise lua.LuaError(f"attempt to index a non-table object({lua.type_name(state)}) with key 'find'")
    return HealthVerdict(DEGRADED, state.replace("ERROR, ", "")) if state.startswith("ERROR") else waiting


CHECKS["kubernetes-client.io"] = {"ExternalSecret": _external_secret}


# Sealed Secrets.

CHECKS["bitnami.com"] = {
    "SealedSecret": in_order(
        true_or_false("Synced"), progressing("Waiting for Sealed Secret to be decrypted")
    )
}


# 1Password: items.

CHECKS["onepassword.com"] = {
    "OnePasswordItem": in_order(
        conditions(
            condition_is("Ready", "True", healthy("{message}")),
            condition_is("Ready", "False", degraded("{message}")),
        ),
        progressing("Waiting for controller to report status"),
    )
}


# Kyverno: policies. Only the exact words of a ready policy count.

CHECKS["kyverno.io"] = {
    "Policy": in_order(
        conditions(
            when(
                "message == 'Ready'",
                condition_is("Ready", "True", healthy("Policy is ready"), reason="Succeeded"),
            )
        ),
        progressing("Waiting for Policy to be ready"),
    )
}
