"""Koperator's Kafka clusters: brokers first, then Cruise Control and the cluster."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_SETTLED = ("GracefulUpscaleSucceeded", "GracefulDownscaleSucceeded")


def _kafka_cluster(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for KafkaCluster")
    status = lua.at(obj, "status")
    if status is None:
        return waiting
    state, topic = lua.at(status, "state"), lua.at(status, "cruiseControlTopicStatus")
    if state == "ClusterRollingUpgrading":
        return HealthVerdict(PROGRESSING, "Kafka Cluster is Rolling Upgrading.")
    brokers = lua.at(status, "brokersState")
    if brokers is None:
        return waiting
    settled = [_is_settled(broker) for broker in lua.pairs(brokers)]  # all of them: any may be ill-formed
    if not all(settled):
        return HealthVerdict(DEGRADED, "Broker Config is out of Sync or CruiseControlState is not Ready")
    if topic == "CruiseControlTopicReady" and state == "ClusterRunning":
        return HealthVerdict(HEALTHY, "Kafka Brokers, CruiseControl and cluster are in Healthy State.")
    if topic in (None, "CruiseControlTopicNotReady") and state == "ClusterReconciling":
        return HealthVerdict(PROGRESSING, "Kafka Cluster is Reconciling.")
    return waiting


def _is_settled(broker: Json) -> bool:
    if lua.at(broker, "configurationState") != "ConfigInSync":
        return False
    return lua.named(broker, "gracefulActionState", "cruiseControlState") in _SETTLED


GROUP = "kafka.banzaicloud.io"
CHECKS: dict[str, Check] = {"KafkaCluster": _kafka_cluster}
