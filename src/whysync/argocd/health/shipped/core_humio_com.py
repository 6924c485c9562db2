"""Humio (LogScale)."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    missing,
    progressing,
    unknown,
    when,
)

GROUP: Final = "core.humio.com"

_EXISTS: Final = by(
    ".status?.state",
    {
        "Exists": healthy("Component state: Exists."),
        "NotFound": missing("Component state: NotFound."),
        "ConfigError": degraded("Component state: ConfigError."),
        "Unknown": unknown("Component state: Unknown."),
    },
    other=progressing("Update in progress"),
)

CHECKS: Final[dict[str, Check]] = {
    "HumioAction": _EXISTS,
    "HumioAlert": _EXISTS,
    "HumioCluster": in_order(
        # Without a status the script asks that same status for a message, and fails.
        when(absent(".status"), then=progressing("{.status.message}")),
        by(
            ".status.state",
            {
                "Running": healthy("{.status.message|Cluster is in a healthy running state}"),
                "Restarting": progressing("{.status.message|Cluster pods are being restarted}"),
                "Upgrading": progressing("{.status.message|Cluster pods are being upgraded}"),
                "ConfigError": degraded(
                    "{.status.message|User-provided cluster specification resulted in a configuration error}"
                ),
                "Pending": progressing("{.status.message|Cluster is waiting on resources to be provisioned}"),
                "Unknown": unknown("{.status.message|Component state: Unknown.}"),
            },
            other=progressing("Update in progress"),
        ),
    ),
    "HumioIngestToken": _EXISTS,
    "HumioParser": _EXISTS,
    "HumioRepository": _EXISTS,
    "HumioView": _EXISTS,
}
