"""The controllers of workloads, as the controller manager runs them."""

from __future__ import annotations

from whysync.cluster.life.collector import Collector
from whysync.cluster.life.controller import Controller
from whysync.cluster.life.cronjob import CronJobs
from whysync.cluster.life.daemonset import DaemonSets
from whysync.cluster.life.deployment import Deployments
from whysync.cluster.life.desk import Desk
from whysync.cluster.life.job import Jobs
from whysync.cluster.life.replicaset import ReplicaSets
from whysync.cluster.life.statefulset import StatefulSets
from whysync.cluster.life.ttl import FinishedJobs


def workload_controllers(desk: Desk) -> list[Controller]:
    """Those that make pods first: whoever counts what they made sees them settled."""
    return [
        ReplicaSets(desk),
        StatefulSets(desk),
        DaemonSets(desk),
        Jobs(desk),
        CronJobs(desk),
        FinishedJobs(desk),
        Deployments(desk),
        Collector(desk),
    ]
