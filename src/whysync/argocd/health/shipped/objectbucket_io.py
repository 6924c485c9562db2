"""Object bucket claims."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    progressing,
    when,
)

_PHASE = "Object bucket claim phase is {.status.phase}"

GROUP = "objectbucket.io"
CHECKS: dict[str, Check] = {
    "ObjectBucketClaim": in_order(
        when(absent(".status"), then=progressing("Waiting for status to be reported")),
        when(absent(".status.phase"), then=progressing("Waiting for phase to be reported")),
        by(
            ".status.phase",
            {"Bound": healthy(_PHASE), "Failed": degraded(_PHASE)},
            progressing(_PHASE),
        ),
    ),
}
