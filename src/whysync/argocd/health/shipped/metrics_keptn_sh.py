"""Keptn: metrics and analyses. A missing status is an error of the check, not "waiting"."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    present,
    progressing,
    when,
)

GROUP = "metrics.keptn.sh"
CHECKS: dict[str, Check] = {
    "Analysis": in_order(
        when(is_(".status.pass", True), then=healthy("Analysis is healthy")),
        when(is_(".status.warning", True), then=healthy("Analysis is healthy with warnings")),
        when(is_(".status.pass", False), then=degraded("Analysis is degraded")),
        progressing("Analysis is progressing"),
    ),
    "KeptnMetric": in_order(
        when(
            present(".status.errMsg"),
            isnt(".status.errMsg", ""),
            then=degraded("KeptnMetric is degraded"),
        ),
        when(present(".status.value"), then=healthy("KeptnMetric is healthy")),
        progressing("KeptnMetric is progressing"),
    ),
}
