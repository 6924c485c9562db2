"""Logs, metrics and traces: Elastic, Humio, Grafana, Prometheus, VictoriaMetrics, OpenTelemetry, Datadog."""

from __future__ import annotations

import re
from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    SPEC_NOT_OBSERVED,
    Check,
    Getter,
    by,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    missing,
    progressing,
    suspended,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Elastic Cloud on Kubernetes: Beats.

_UNDER_WAY: Final = progressing("Elastic Beat phase is progressing")

CHECKS["beat.k8s.elastic.co"] = {
    "Beat": in_order(
        by(
            ".status?.health",
            {
                "red": degraded("Elastic Beat status is Red"),
                "green": healthy("Elastic Beat status is Green"),
                "yellow": in_order(
                    when(
                        ".status.availableNodes ~= nil and .status.expectedNodes ~= nil",
                        progressing(
                            "Elastic Beat status is deploying, there is {.status.availableNodes} instance(s)"
                            " on {.status.expectedNodes} expected"
                        ),
                    ),
                    _UNDER_WAY,
                ),
            },
        ),
        when(".status?.health == nil and .status?.expectedNodes ~= nil", _UNDER_WAY),
        unknown(
            "Elastic Beat status is unknown. Ensure your ArgoCD is current and then check for/file a bug"
            " report: https://github.com/argoproj/argo-cd/issues"
        ),
    )
}


# Elastic Cloud on Kubernetes: Elasticsearch.

_LOOK: Final = "Check the status of indices, replicas and shards"

_ALL_NODES_THERE: Final = when(
    ".status.phase ~= nil and .status.health ~= nil",
    by(
        ".status.phase",
        {
            "Ready": by(
                ".status.health",
                {
                    "green": healthy("Elasticsearch Cluster status is Green"),
                    "yellow": progressing(f"Elasticsearch Cluster status is Yellow. {_LOOK}"),
                    "red": degraded(f"Elasticsearch Cluster status is Red. {_LOOK}"),
                },
            ),
            "ApplyingChanges": progressing("Elasticsearch phase is ApplyingChanges"),
            "MigratingData": progressing("Elasticsearch phase is MigratingData"),
            "Invalid": degraded("Elasticsearch phase is Invalid"),
        },
    ),
)


def _by_nodes(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
    nodes = lua.maybe(obj, "status", "availableNodes")
    if nodes is None:
        return None
    desired: int | float = 0
    for node_set in lua.pairs(lua.at_path(obj, "spec", "nodeSets")):
        desired += lua.number(lua.at(node_set, "count"))
    if lua.less(nodes, desired):
        text = lua.concat(
            "The desired amount of availableNodes is ", desired, " but the current amount is ", nodes
        )
        return HealthVerdict(PROGRESSING, text)
    return _ALL_NODES_THERE(obj) if lua.same(nodes, desired) else None


CHECKS["elasticsearch.k8s.elastic.co"] = {
    "Elasticsearch": in_order(
        _by_nodes,
        unknown(
            "Elasticsearch Cluster status is unknown. Ensure your ArgoCD is current and then check for/file"
            " a bug report: https://github.com/argoproj/argo-cd/issues"
        ),
    )
}


# Elastic Cloud on Kubernetes: Logstash.

CHECKS["logstash.k8s.elastic.co"] = {
    "Logstash": by(
        ".status?.health",
        {
            "green": healthy("Logstash status is Green"),
            "yellow": progressing("Logstash status is Yellow"),
            "red": degraded("Logstash status is Red"),
        },
        progressing("Waiting for Logstash"),
    )
}


# Humio (LogScale).

_EXISTS: Final = by(
    ".status?.state",
    {
        "Exists": healthy("Component state: Exists."),
        "NotFound": missing("Component state: NotFound."),
        "ConfigError": degraded("Component state: ConfigError."),
        "Unknown": unknown("Component state: Unknown."),
    },
    other=progressing("Update in progress"),
)

CHECKS["core.humio.com"] = {
    "HumioAction": _EXISTS,
    "HumioAlert": _EXISTS,
    "HumioCluster": in_order(
        # Without a status the script asks that same status for a message, and fails.
        when(".status == nil", progressing("{.status.message}")),
        by(
            ".status.state",
            {
                "Running": healthy("{.status.message|Cluster is in a healthy running state}"),
                "Restarting": progressing("{.status.message|Cluster pods are being restarted}"),
                "Upgrading": progressing("{.status.message|Cluster pods are being upgraded}"),
                "ConfigError": degraded(
                    "{.status.message|User-provided cluster specification resulted in a configuration error}"
                ),
                "Pending": progressing("{.status.message|Cluster is waiting on resources to be provisioned}"),
                "Unknown": unknown("{.status.message|Component state: Unknown.}"),
            },
            other=progressing("Update in progress"),
        ),
    ),
    "HumioIngestToken": _EXISTS,
    "HumioParser": _EXISTS,
    "HumioRepository": _EXISTS,
    "HumioView": _EXISTS,
}


# Datadog: metrics for autoscalers.

CHECKS["datadoghq.com"] = {
    "DatadogMetric": in_order(
        conditions(
            condition_is(
                "Error",
                "True",
                in_order(
                    when("reason| == ''", degraded("{message|DatadogMetric reported an error}")),
                    degraded("{reason}: {message|DatadogMetric reported an error}"),
                ),
            )
        ),
        conditions(condition_is("Valid", "False", degraded("{message|DatadogMetric is not valid}"))),
        healthy("DatadogMetric is healthy"),
    )
}


# Coralogix: alerts and recording rules.

_SYNCED: Final = in_order(
    conditions(
        condition_is("RemoteSynced", "True", healthy("Resource is ready")),
        condition_is("RemoteSynced", "False", degraded("{message}")),
    ),
    progressing("Waiting for status to be updated"),
)

CHECKS["coralogix.com"] = {"Alert": _SYNCED, "RecordingRuleGroupSet": _SYNCED}


# The Grafana operator.


def _all_conditions(obj: Object) -> HealthVerdict:
    """Lists the conditions up to the first that is False."""
    code, messages = PROGRESSING, ""
    entries = lua.maybe(obj, "status", "conditions")
    for condition in () if entries is None else lua.ipairs(entries):
        status = lua.at(condition, "status")
        if status is None:
            continue
        messages = (messages + ", " if messages else "") + _sentence(condition)
        if status == "False":
            return HealthVerdict(DEGRADED, messages)
        if status == "True":
            code = HEALTHY
    return HealthVerdict(code, messages)


def _sentence(condition: Json) -> str:
    """`reason for type because message`, without missing parts."""
    pieces: list[Json] = []
    for separator, name in (("", "reason"), (" for ", "type"), (" because ", "message")):
        value = lua.at(condition, name)
        if value is None:
            break
        pieces += [separator, value]
    return lua.concat(*pieces)


CHECKS["grafana.integreatly.org"] = {
    "Grafana": in_order(
        when(".status?.stageStatus == nil", progressing("Waiting for Grafana status info")),
        when(".status.stageStatus == 'failed'", degraded("Failed at stage {.status.stage}")),
        when(".status.stage == 'complete' and .status.stageStatus == 'success'", healthy()),
        progressing("{.status.stage}"),
    ),
    "GrafanaDashboard": _all_conditions,
    "GrafanaDatasource": in_order(
        when(".status == nil or .status.uid == ''", progressing()),
        when(".status.NoMatchingInstances", degraded("can't find matching grafana instance")),
        healthy(),
    ),
    "GrafanaFolder": _all_conditions,
}


# Kubitus' operator for Grafana organizations: one check for all its kinds.

CHECKS["grafana-org-operator.kubitus-project.gitlab.io"] = {
    "*": in_order(
        conditions(
            condition_is(
                "Ready",
                None,
                by(
                    "status",
                    {"False": degraded("{message}"), "True": healthy("{message}")},
                    other=progressing("{message}"),
                ),
            )
        ),
        progressing("Waiting ..."),
    )
}


# The Prometheus operator.


def _prometheus(obj: Object) -> HealthVerdict:
    """The last Available decides."""
    entries = lua.maybe(obj, "status", "conditions")
    available: Json = None
    for condition in lua.ipairs(entries) if entries is not None else ():
        if lua.at(condition, "type") == "Available":
            available = condition
    if available is None:
        return HealthVerdict(PROGRESSING, "Waiting for initialization")
    if lua.at(available, "status") == "True":
        return HealthVerdict(HEALTHY, "All instances are available")
    reason, message = lua.at(available, "reason"), lua.at(available, "message")
    code = PROGRESSING if reason == "SomePodsNotReady" else DEGRADED
    return verdict(code, message if lua.truthy(message) else reason)


CHECKS["monitoring.coreos.com"] = {"Prometheus": _prometheus}


# The VictoriaMetrics operator: one check for all its kinds.


def _reason_or(plain: str) -> Getter:
    def write(obj: Object, _item: Json) -> Json:
        reason = lua.at_path(obj, "status", "reason")
        return reason if lua.truthy(reason) and reason != "" else plain

    return write


_NOT_RECONCILED = progressing("Waiting for the operator to reconcile")

CHECKS["operator.victoriametrics.com"] = {
    "*": in_order(
        when(".status == nil", _NOT_RECONCILED),
        when(SPEC_NOT_OBSERVED, _NOT_RECONCILED),
        by(
            ".status.updateStatus",
            {
                "operational": healthy("All components are operational"),
                "expanding": progressing(_reason_or("Reconciliation in progress")),
                "paused": suspended(_reason_or("Reconciliation is paused")),
                "failed": degraded(_reason_or("Reconciliation failed")),
            },
            progressing("Waiting for the operator to report status"),
        ),
    )
}


# OpenTelemetry: collectors, judged by a text such as `2/3`.


def _collector(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return HealthVerdict(PROGRESSING, "Waiting for OpenTelemetry Collector status")
    replicas = lua.maybe(status, "scale", "statusReplicas")
    if replicas is None:
        if lua.at_path(obj, "spec", "mode") == "sidecar":
            return HealthVerdict(HEALTHY, "Collector is running in sidecar mode")
        return HealthVerdict(PROGRESSING, "Scale status not available")
    replica_status = _as_text(replicas)
    matched = re.search(r"(?<![0-9])([0-9]+)/([0-9]+)", replica_status)
    if matched is None:
        return HealthVerdict(PROGRESSING, f"Unable to parse replica status: {replica_status}")
    ready, total = float(matched[1]), float(matched[2])
    if ready == 0:
        # A DaemonSet without eligible nodes is healthy.
        if lua.maybe(obj, "spec", "mode") == "daemonset" and total == 0:
            return HealthVerdict(HEALTHY, "DaemonSet has no eligible nodes (0/0)")
        return HealthVerdict(DEGRADED, "No replicas are ready")
    if ready == total:
        return HealthVerdict(HEALTHY, "All replicas are ready")
    return HealthVerdict(PROGRESSING, "Replicas are starting up")


def _as_text(value: Json) -> str:
    if isinstance(value, str) or lua.is_number(value):
        return lua.concat(value)
    raise lua.LuaError(f"bad argument #1 to match (string expected, got {lua.type_name(value)})")


CHECKS["opentelemetry.io"] = {"OpenTelemetryCollector": _collector}


# Jaeger.

CHECKS["jaegertracing.io"] = {
    "Jaeger": by(
        ".status?.phase",
        {"Running": healthy("Jaeger is Running"), "Failed": degraded("Jaeger Failed For Some Reason")},
        progressing("Waiting for Jaeger"),
    )
}


# Kiali.

CHECKS["kiali.io"] = {
    "Kiali": in_order(
        conditions(
            condition_is("Successful", "True", healthy("{message}")),
            condition_is("Failure", "True", degraded("{message}")),
            condition_is("Running", None, progressing("{message}"), reason="Running"),
        ),
        progressing("Waiting for Kiali"),
    )
}
