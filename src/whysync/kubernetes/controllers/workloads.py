"""The controllers of workloads, as the controller manager runs them."""

from __future__ import annotations

from whysync.kubernetes.controllers.client import Desk
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.cronjob import CronJobs
from whysync.kubernetes.controllers.daemonset import DaemonSets
from whysync.kubernetes.controllers.deployment import Deployments
from whysync.kubernetes.controllers.garbage_collector import Collector
from whysync.kubernetes.controllers.job import Jobs
from whysync.kubernetes.controllers.replicaset import ReplicaSets
from whysync.kubernetes.controllers.statefulset import StatefulSets
from whysync.kubernetes.controllers.ttl_after_finished import FinishedJobs


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
