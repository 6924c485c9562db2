"""Messages and data streams: Kafka, RabbitMQ, ZooKeeper, Flink, Spark, Camel K."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    by,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    missing,
    progressing,
    true_or_false,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Koperator's Kafka clusters: brokers first, then Cruise Control and the cluster.

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
    return lua.at_path(broker, "gracefulActionState", "cruiseControlState") in _SETTLED


CHECKS["kafka.banzaicloud.io"] = {"KafkaCluster": _kafka_cluster}


# Strimzi: Kafka and what lives around it.

_NOT_READY = condition_is("NotReady", "True", degraded("{message}"))
_READY = condition_is("Ready", "True", healthy())


def _strimzi(waiting: str, not_ready: Step = _NOT_READY) -> Check:
    return in_order(conditions(not_ready, _READY), progressing(waiting))


CHECKS["kafka.strimzi.io"] = {
    # A cluster that is being created is NotReady as well.
    "Kafka": _strimzi("Waiting for Kafka Cluster", when("reason ~= 'Creating'", _NOT_READY)),
    "KafkaBridge": _strimzi("Waiting for KafkaBridge"),
    "KafkaConnect": _strimzi("Waiting for Kafka Connect"),
    "KafkaConnector": _strimzi("Waiting for KafkaConnector"),
    "KafkaTopic": _strimzi("Waiting for Kafka Topic"),
    "KafkaUser": _strimzi("Waiting for Kafka User"),
}


# Confluent for Kubernetes.


def _component(kind: str) -> Check:
    return by(
        ".status?.phase",
        {"RUNNING": healthy(f"{kind} running"), "PROVISIONING": progressing(f"{kind} provisioning")},
        progressing(f"Waiting for {kind}"),
    )


def _first_complaint(obj: Object, _item: Json) -> Json:
    entries = lua.at_path(obj, "status", "conditions")
    if not lua.truthy(entries) or lua.length(entries) == 0:
        return "No conditions available"
    first = next(iter(lua.ipairs(entries)), None) if isinstance(entries, list) else None
    return lua.at(first, "message")


CHECKS["platform.confluent.io"] = {
    "Connect": _component("Connect"),
    "Connector": in_order(
        when(
            ".status?.state == 'CREATED' and .status.connectorState == 'RUNNING'"
            " and .status.failedTasksCount == nil",
            healthy("Connector running"),
        ),
        when(".status?.state == 'ERROR'", degraded(_first_complaint)),
        when(
            ".status?.state ~= nil and .status.failedTasksCount ~= nil and 0 < .status.failedTasksCount",
            degraded("Connector has failed tasks"),
        ),
        progressing("Waiting for Kafka Connector"),
    ),
    "ControlCenter": _component("ControlCenter"),
    "Kafka": _component("Kafka"),
    "KsqlDB": _component("KsqlDB"),
    "SchemaRegistry": _component("SchemaRegistry"),
    "Zookeeper": _component("Zookeeper"),
}


# RabbitMQ: clusters, and what is declared in them.


def _declared(subject: str) -> Check:
    return in_order(
        conditions(
            condition_is(
                "Ready", "True", healthy(f"RabbitMQ {subject} ready"), reason="SuccessfulCreateOrUpdate"
            ),
            condition_is(
                "Ready",
                "False",
                degraded(f"RabbitMQ {subject} failed to be created or updated"),
                reason="FailedCreateOrUpdate",
            ),
        ),
        unknown(f"RabbitMQ {subject} status is unknown"),
    )


def _cluster(obj: Object) -> HealthVerdict:
    """Conditions are Unknown or missing while a cluster forms, which is not a failure."""
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


CHECKS["rabbitmq.com"] = {
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


# Pravega's ZooKeeper. A status that counts neither kind of replica passes for healthy.

CHECKS["zookeeper.pravega.io"] = {
    "ZookeeperCluster": in_order(
        when(
            ".status ~= nil and .status.readyReplicas ~= 0 and .status.readyReplicas == .status.replicas",
            healthy("All ZK Nodes have joined the ensemble"),
        ),
        progressing("Waiting for ZK Nodes to join the ensemble"),
    )
}


# Apache Flink's operator.

CHECKS["flink.apache.org"] = {
    "FlinkDeployment": in_order(
        when(".status?.reconciliationStatus == nil", progressing("Waiting for Flink operator")),
        when(
            ".status.reconciliationStatus.success or .status.reconciliationStatus.state == 'DEPLOYED'",
            healthy(),
        ),
        by(
            ".status.jobManagerDeploymentStatus",
            {
                "DEPLOYED_NOT_READY": progressing("Waiting for deploying"),
                "DEPLOYING": progressing("Waiting for deploying"),
                "ERROR": degraded("{.status.reconciliationStatus.error}"),
            },
            other=progressing("Waiting for Flink operator"),
        ),
    )
}


# Spark: applications. A running one is healthy when it has the executors it asked for.

_NO_LIMIT: Final = float("inf")
_ERROR = degraded("{.status.applicationState.errorMessage}")


def _running(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
    states = lua.at_path(obj, "status", "executorState")
    if states is None:
        return None
    count = sum(state == "RUNNING" for state in lua.pairs(states))
    return HealthVerdict(HEALTHY, "SparkApplication is Running") if _is_enough(obj, count) else None


def _is_enough(obj: Object, count: int) -> bool:
    instances = lua.at_path(obj, "spec", "executor", "instances")
    if lua.same(instances, count):
        return True
    allowed = _range(lua.at(obj, "spec"))
    if allowed is not None:
        minimum, maximum = allowed
        return lua.at_least(count, minimum) and lua.at_least(maximum, count)
    return instances is None and lua.at_path(obj, "spec", "dynamicAllocation") is None and count >= 1


def _range(spec: Json) -> tuple[Json, Json] | None:
    """The allowed number of executors, from the spec or else from Spark's configuration."""
    dynamic, settings = lua.at(spec, "dynamicAllocation"), lua.at(spec, "sparkConf")
    if lua.truthy(dynamic) and lua.truthy(lua.at(dynamic, "enabled")):
        minimum, maximum = lua.at(dynamic, "minExecutors"), lua.at(dynamic, "maxExecutors")
        return (minimum if lua.truthy(minimum) else 0, maximum if lua.truthy(maximum) else _NO_LIMIT)
    if settings is None:
        return None
    for prefix in ("spark.streaming.dynamicAllocation", "spark.dynamicAllocation"):
        if lua.at(settings, f"{prefix}.enabled") == "true":
            minimum = lua.at(settings, f"{prefix}.minExecutors")
            maximum = lua.at(settings, f"{prefix}.maxExecutors")
            lower = lua.to_number(minimum) if minimum is not None else 0
            upper = lua.to_number(maximum) if maximum is not None else _NO_LIMIT
            return (lower, upper) if lower is not None else None
    return None


CHECKS["sparkoperator.k8s.io"] = {
    "SparkApplication": in_order(
        by(
            ".status?.applicationState.state",
            {
                "": progressing("SparkApplication was added, enqueuing it for submission"),
                "RUNNING": _running,
                "SUBMITTED": progressing("SparkApplication was submitted successfully"),
                "COMPLETED": healthy("SparkApplication was Completed"),
                "FAILED": _ERROR,
                "SUBMISSION_FAILED": _ERROR,
                "PENDING_RERUN": progressing("SparkApplication is Pending Rerun"),
                "INVALIDATING": missing("SparkApplication is in InvalidatingState"),
                # The line break and the spaces, also those at the end of UNKNOWN, are part of the messages.
                "SUCCEEDING": progressing(
                    "The driver pod has been completed successfully. "
                    "The executor pods terminate and are cleaned up.\n"
                    + " " * 32
                    + "Under this circumstances, we assume the executor pod are completed."
                ),
                "FAILING": _ERROR,
                "UNKNOWN": progressing(
                    "SparkApplication is in UnknownState because either driver pod "
                    "or one or all executor pods in unknown state  "
                ),
            },
        ),
        progressing("Waiting for Executor pods"),
    )
}


# Camel K.

CHECKS["camel.apache.org"] = {
    "Integration": in_order(true_or_false("Ready"), progressing("Waiting for Integration"))
}
