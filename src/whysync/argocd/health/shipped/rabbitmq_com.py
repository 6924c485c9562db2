"""RabbitMQ: clusters, and what is declared in them."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    says,
    unknown,
    verdict,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _declared(what: str) -> Check:
    return in_order(
        conditions(
            says("Ready", "True", healthy(f"RabbitMQ {what} ready"), reason="SuccessfulCreateOrUpdate"),
            says(
                "Ready",
                "False",
                degraded(f"RabbitMQ {what} failed to be created or updated"),
                reason="FailedCreateOrUpdate",
            ),
        ),
        unknown(f"RabbitMQ {what} status is unknown"),
    )


def _cluster(obj: Object) -> HealthVerdict:
    """Conditions are Unknown, or not there, while a cluster forms; that is no failure."""
    entries = lua.maybe(obj, "status", "conditions")
    available: Json = None
    replicas: Json = None
    for condition in lua.ipairs(entries) if entries is not None else ():
        kind, status = lua.at(condition, "type"), lua.at(condition, "status")
        if kind == "ReconcileSuccess" and status == "False":
            return verdict(DEGRADED, lua.at(condition, "message"))
        if kind == "ClusterAvailable":
            available = status
        elif kind == "AllReplicasReady":
            replicas = status
    if "Unknown" in (available, replicas):
        return HealthVerdict(PROGRESSING, "Waiting for RabbitMQ cluster readiness (conditions unknown)")
    if available == "False":
        return HealthVerdict(PROGRESSING, "Waiting for RabbitMQ cluster formation")
    if replicas == "False":
        return HealthVerdict(PROGRESSING, "Waiting for RabbitMQ instances ready")
    if available == replicas == "True":
        return HealthVerdict(HEALTHY, "RabbitMQ cluster ready")
    return HealthVerdict(PROGRESSING, "Waiting for RabbitMQ Operator")


GROUP = "rabbitmq.com"
CHECKS: dict[str, Check] = {
    "Binding": _declared("binding"),
    "Exchange": _declared("exchange"),
    "Permission": _declared("permission"),
    "Policy": _declared("policy"),
    "Queue": _declared("queue"),
    "RabbitmqCluster": _cluster,
    "Shovel": _declared("shovel"),
    "User": _declared("user"),
    "Vhost": _declared("vhost"),
}
