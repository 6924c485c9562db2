"""Jaeger."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing

GROUP = "jaegertracing.io"
CHECKS: dict[str, Check] = {
    "Jaeger": by(
        ".status?.phase",
        {"Running": healthy("Jaeger is Running"), "Failed": degraded("Jaeger Failed For Some Reason")},
        progressing("Waiting for Jaeger"),
    ),
}
