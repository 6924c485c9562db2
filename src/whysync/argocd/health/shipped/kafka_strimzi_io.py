"""Strimzi: Kafka and what lives around it."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    conditions,
    degraded,
    healthy,
    in_order,
    isnt,
    progressing,
    says,
    when,
)

_NOT_READY = says("NotReady", "True", degraded("{message}"))
_READY = says("Ready", "True", healthy())


def _strimzi(waiting: str, not_ready: Step = _NOT_READY) -> Check:
    return in_order(conditions(not_ready, _READY), progressing(waiting))


GROUP = "kafka.strimzi.io"
CHECKS: dict[str, Check] = {
    # A cluster that is being created says NotReady too.
    "Kafka": _strimzi("Waiting for Kafka Cluster", when(isnt("reason", "Creating"), then=_NOT_READY)),
    "KafkaBridge": _strimzi("Waiting for KafkaBridge"),
    "KafkaConnect": _strimzi("Waiting for Kafka Connect"),
    "KafkaConnector": _strimzi("Waiting for KafkaConnector"),
    "KafkaTopic": _strimzi("Waiting for Kafka Topic"),
    "KafkaUser": _strimzi("Waiting for Kafka User"),
}
