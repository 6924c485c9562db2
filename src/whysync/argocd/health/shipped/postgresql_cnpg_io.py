"""CloudNativePG: clusters, judged by the words of their phase."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    by,
    degraded,
    each,
    healthy,
    in_order,
    is_,
    present,
    progressing,
    says,
    suspended,
    true,
    unknown,
    when,
)

_WHY = "{.status.phaseReason}"
_HIBERNATION = "cnpg.io/hibernation"

_PHASE = by(
    ".status.phase",
    {
        "Cluster in healthy state": healthy(_WHY),
        "Setting up primary": progressing(_WHY),
        "Creating a new replica": progressing(_WHY),
        "Upgrading cluster": progressing(_WHY),
        "Waiting for the instances to become active": progressing(_WHY),
        "Promoting to primary cluster": progressing(_WHY),
        "Switchover in progress": degraded(_WHY),
        "Failing over": degraded(_WHY),
        "Upgrading Postgres major version": degraded(_WHY),
        "Cluster upgrade delayed": degraded(_WHY),
        "Waiting for user action": degraded(_WHY),
        "Primary instance is being restarted in-place": degraded(_WHY),
        "Primary instance is being restarted without a switchover": degraded(_WHY),
        "Cluster cannot execute instance online upgrade due to missing architecture binary": degraded(_WHY),
        "Online upgrade in progress": degraded(_WHY),
        "Applying configuration": degraded(_WHY),
        "Unable to create required cluster objects": suspended(_WHY),
        "Cluster cannot proceed to reconciliation due to an unknown plugin being required": suspended(_WHY),
        "Cluster has incomplete or invalid image catalog": suspended(_WHY),
        "Cluster is unrecoverable and needs manual intervention": suspended(_WHY),
    },
    unknown(_WHY),
)

GROUP = "postgresql.cnpg.io"
CHECKS: dict[str, Check] = {
    "Cluster": in_order(
        when(
            true(".metadata"),
            true(".metadata.annotations"),
            is_((".metadata.annotations", "cnpg.io/reconciliationLoop"), "disabled"),
            then=suspended("Cluster reconciliation is suspended"),
        ),
        when(
            present(".status?.conditions"),
            then=in_order(
                each(
                    ".status.conditions",
                    says(_HIBERNATION, "True", suspended("{message}")),
                    says(_HIBERNATION, None, degraded("{message}")),
                    keyed=True,
                ),
                _PHASE,
            ),
        ),
        progressing(_WHY),
    ),
}
