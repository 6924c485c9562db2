"""CustomResourceDefinitions."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    none_of,
    present,
    progressing,
    says,
    some,
    when,
)

GROUP: Final = "apiextensions.k8s.io"

CHECKS: Final[dict[str, Check]] = {
    "CustomResourceDefinition": in_order(
        when(present(".metadata.deletionTimestamp"), then=progressing("CRD is terminating")),
        # A CRD without any status is an error of the script: Unknown.
        when(none_of(some(".status.conditions")), then=progressing("Status conditions not found")),
        conditions(
            says("Terminating", "True", progressing("CRD is terminating: {message}")),
            says("NamesAccepted", "False", degraded("CRD names have not been accepted: {message}")),
            says("NonStructuralSchema", "True", degraded("Schema violations found: {message}")),
            when(
                is_("type", "Established"),
                isnt("status", "True"),
                is_("reason", "Installing"),
                then=progressing("CRD is being installed"),
            ),
        ),
        conditions(says("Established", "True", healthy("CRD is healthy"))),
        degraded("CRD is not established"),
    )
}
