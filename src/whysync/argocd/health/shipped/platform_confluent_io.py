"""Confluent for Kubernetes."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    is_,
    less,
    present,
    progressing,
    when,
)
from whysync.json_tree import Json, Object


def _component(kind: str) -> Check:
    return by(
        ".status?.phase",
        {"RUNNING": healthy(f"{kind} running"), "PROVISIONING": progressing(f"{kind} provisioning")},
        progressing(f"Waiting for {kind}"),
    )


def _first_complaint(obj: Object, _it: Json) -> Json:
    entries = lua.named(obj, "status", "conditions")
    if not lua.truthy(entries) or lua.length(entries) == 0:
        return "No conditions available"
    first = next(iter(lua.ipairs(entries)), None) if isinstance(entries, list) else None
    return lua.at(first, "message")


GROUP = "platform.confluent.io"
CHECKS: dict[str, Check] = {
    "Connect": _component("Connect"),
    "Connector": in_order(
        when(
            is_(".status?.state", "CREATED"),
            is_(".status.connectorState", "RUNNING"),
            absent(".status.failedTasksCount"),
            then=healthy("Connector running"),
        ),
        when(is_(".status?.state", "ERROR"), then=degraded(_first_complaint)),
        when(
            present(".status?.state"),
            present(".status.failedTasksCount"),
            less(0, ".status.failedTasksCount"),
            then=degraded("Connector has failed tasks"),
        ),
        progressing("Waiting for Kafka Connector"),
    ),
    "ControlCenter": _component("ControlCenter"),
    "Kafka": _component("Kafka"),
    "KsqlDB": _component("KsqlDB"),
    "SchemaRegistry": _component("SchemaRegistry"),
    "Zookeeper": _component("Zookeeper"),
}
