"""Operators of databases: Postgres, MariaDB, Percona, ClickHouse, Solr, Atlas."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    by,
    condition_is,
    conditions,
    degraded,
    each,
    healthy,
    in_order,
    message,
    progressing,
    suspended,
    test,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Zalando's Postgres operator.

_STATE: Final = "{.status.PostgresClusterStatus}"

CHECKS["acid.zalan.do"] = {
    "postgresql": in_order(
        when(".status?.PostgresClusterStatus == nil", progressing("Waiting for postgres cluster status...")),
        by(
            ".status.PostgresClusterStatus",
            {"Running": healthy(_STATE), "Creating": progressing(_STATE), "Updating": progressing(_STATE)},
            other=degraded(_STATE),
        ),
    )
}


# CloudNativePG: clusters, judged by the words of their phase.

_WHY = "{.status.phaseReason}"
_HIBERNATION = "cnpg.io/hibernation"

_PHASE = by(
    ".status.phase",
    {
        "Cluster in healthy state": healthy(_WHY),
        "Setting up primary": progressing(_WHY),
        "Creating a new replica": progressing(_WHY),
        "Upgrading cluster": progressing(_WHY),
        "Waiting for the instances to become active": progressing(_WHY),
        "Promoting to primary cluster": progressing(_WHY),
        "Switchover in progress": degraded(_WHY),
        "Failing over": degraded(_WHY),
        "Upgrading Postgres major version": degraded(_WHY),
        "Cluster upgrade delayed": degraded(_WHY),
        "Waiting for user action": degraded(_WHY),
        "Primary instance is being restarted in-place": degraded(_WHY),
        "Primary instance is being restarted without a switchover": degraded(_WHY),
        "Cluster cannot execute instance online upgrade due to missing architecture binary": degraded(_WHY),
        "Online upgrade in progress": degraded(_WHY),
        "Applying configuration": degraded(_WHY),
        "Unable to create required cluster objects": suspended(_WHY),
        "Cluster cannot proceed to reconciliation due to an unknown plugin being required": suspended(_WHY),
        "Cluster has incomplete or invalid image catalog": suspended(_WHY),
        "Cluster is unrecoverable and needs manual intervention": suspended(_WHY),
    },
    unknown(_WHY),
)

CHECKS["postgresql.cnpg.io"] = {
    "Cluster": in_order(
        when(
            ".metadata and .metadata.annotations"
            " and .metadata.annotations['cnpg.io/reconciliationLoop'] == 'disabled'",
            suspended("Cluster reconciliation is suspended"),
        ),
        when(
            ".status?.conditions ~= nil",
            each(
                ".status.conditions",
                condition_is(_HIBERNATION, "True", suspended("{message}")),
                condition_is(_HIBERNATION, None, degraded("{message}")),
                keyed=True,
            ),
            _PHASE,
        ),
        progressing(_WHY),
    )
}


# MariaDB's operator: the condition at which the iteration ends decides.

_NO_STATUS = "No status info available"


def _walk(template: str, ends: dict[str, HealthCode], *, at_the_end: HealthCode) -> Check:
    """Iterates over the conditions until a test in `ends` decides; the last visited one has the message."""
    write = message(template)
    tests = [(test(condition), code) for condition, code in ends.items()]

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, _NO_STATUS)
        message: Json = _NO_STATUS if at_the_end is PROGRESSING else None
        for condition in lua.ipairs(entries):
            message = write(obj, condition)
            for is_true, code in tests:
                if is_true(obj, condition):
                    return verdict(code, message)
        return verdict(at_the_end, message)

    return check


_BY_READY = _walk(
    "{message}",
    {"type == 'Ready' and status == 'True'": HEALTHY, "type == 'Ready'": DEGRADED},
    at_the_end=PROGRESSING,
)
MARIADB = _walk(
    "{message}",
    {"status == 'False' and reason == 'Failed'": DEGRADED, "status == 'False'": PROGRESSING},
    at_the_end=HEALTHY,
)

CHECKS["k8s.mariadb.com"] = {
    "Backup": _walk(
        "{reason} {message}",
        {
            "status == 'False' and reason == 'CronJobScheduled' and message == 'Failed'": DEGRADED,
            "status == 'False'": PROGRESSING,
        },
        at_the_end=HEALTHY,
    ),
    "Database": _BY_READY,
    "Grant": _BY_READY,
    "MariaDB": MARIADB,
    "SqlJob": _walk(
        "{reason} {message}",
        {
            "status == 'True' and reason == 'JobComplete'": HEALTHY,
            "status == 'True' and reason == 'JobFailed'": DEGRADED,
        },
        at_the_end=PROGRESSING,
    ),
    "User": _BY_READY,
}


# MariaDB's operator, under the group of its first years.

CHECKS["mariadb.mmontes.io"] = {"MariaDB": MARIADB}


# Percona: MongoDB.

_NODES = "{.status.ready}/{.status.size} node(s) are ready"

CHECKS["psmdb.percona.com"] = {
    "PerconaServerMongoDB": in_order(
        when(".status == nil", unknown("Cluster status is unknown")),
        by(
            ".status.state",
            {
                "initializing": progressing(_NODES),
                "ready": healthy(_NODES),
                "error": degraded(_NODES),
                "stopping": progressing(_NODES),
                "paused": suspended(_NODES),
            },
            unknown(_NODES),
        ),
    )
}


# Percona: XtraDB clusters.

_PXC_NODES = "{.status.ready}/{.status.size} node(s) are ready"


def _errors(obj: Object, _item: Json) -> Json:
    return "Cluster is on error: " + lua.joined(lua.at_path(obj, "status", "message"), ", ")


CHECKS["pxc.percona.com"] = {
    "PerconaXtraDBCluster": by(
        ".status?.state",
        {
            "initializing": progressing(_PXC_NODES),
            "ready": healthy(_PXC_NODES),
            "paused": unknown("Cluster is paused"),
            "stopping": degraded(f"Cluster is stopping ({_PXC_NODES})"),
            "error": degraded(_errors),
        },
        unknown(
            "Cluster status is unknown. Ensure your ArgoCD is current and then check for/file a bug report: "
            "https://github.com/argoproj/argo-cd/issues"
        ),
    )
}


# Altinity's ClickHouse operator.


def installation(name: str) -> Step:
    return in_order(
        when(".status?.status == nil", progressing(f"{name} status not yet available")),
        by(
            ".status.status",
            {
                "Completed": healthy(f"{name} installation completed successfully"),
                "InProgress": progressing(f"{name} installation in progress"),
            },
            other=degraded(f"{name} status: {{.status.status}}"),
        ),
    )


CHECKS["clickhouse.altinity.com"] = {"ClickHouseInstallation": installation("ClickHouse")}


# Altinity's ClickHouse operator: the keeper.

CHECKS["clickhouse-keeper.altinity.com"] = {"ClickHouseKeeperInstallation": installation("ClickHouseKeeper")}


# Apache Solr. Nothing in its status could make it Degraded.

CHECKS["solr.apache.org"] = {
    "SolrCloud": in_order(
        when(".status?.solrNodes == nil", progressing("Waiting for solr to exist")),
        each(".status.solrNodes", when("not ready", progressing("Not all replicas are ready"))),
        healthy("Solr is ready"),
    )
}


# Atlas: schemas and migrations of databases.


def _ready(still_working: str) -> Step:
    """The first Ready condition decides alone."""
    return in_order(
        conditions(
            condition_is(
                "Ready",
                None,
                in_order(
                    when("status == 'True'", healthy("{reason}")),
                    when(still_working, progressing("{reason}")),
                    degraded("{reason}"),
                ),
            )
        ),
        progressing("Waiting for Atlas Operator"),
    )


CHECKS["db.atlasgo.io"] = {
    "AtlasMigration": _ready("reason == 'Reconciling'"),
    # Upstream looks at the message here, though these words are reasons.
    "AtlasSchema": _ready("message in ('Reconciling', 'GettingDevDB')"),
}
