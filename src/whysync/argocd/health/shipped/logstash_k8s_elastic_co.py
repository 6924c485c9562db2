"""Elastic Cloud on Kubernetes: Logstash."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing

GROUP = "logstash.k8s.elastic.co"
CHECKS: dict[str, Check] = {
    "Logstash": by(
        ".status?.health",
        {
            "green": healthy("Logstash status is Green"),
            "yellow": progressing("Logstash status is Yellow"),
            "red": degraded("Logstash status is Red"),
        },
        progressing("Waiting for Logstash"),
    ),
}
