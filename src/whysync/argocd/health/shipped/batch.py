"""CronJobs. (Jobs are judged in Go.)"""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    degraded,
    healthy,
    in_order,
    is_,
    less,
    progressing,
    some,
    when,
)

GROUP: Final = "batch"

CHECKS: Final[dict[str, Check]] = {
    "CronJob": in_order(
        when(is_(".spec.suspend", True), then=healthy("CronJob is Suspended")),
        when(absent(".status"), then=progressing("Waiting for CronJob")),
        when(
            absent(".status.lastScheduleTime"),
            then=healthy("CronJob has not been scheduled yet"),
        ),
        when(
            absent(".status.lastSuccessfulTime"),
            then=healthy("The CronJob never completed successfully. It may not be healthy"),
        ),
        when(
            some(".status.active"),
            then=healthy("The job is running. Its last execution may not have been successful"),
        ),
        # Times are compared as text, which is right for RFC 3339 in UTC.
        when(
            less(".status.lastSuccessfulTime", ".status.lastScheduleTime"),
            then=degraded("CronJob has not completed its last execution successfully"),
        ),
        healthy("CronJob has completed its last execution successfully"),
    )
}
