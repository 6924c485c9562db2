"""The controllers of workloads, as the controller manager runs them."""

from __future__ import annotations

from whysync.kubernetes.controllers.client import Client
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.cronjob import CronJobController
from whysync.kubernetes.controllers.daemonset import DaemonSetController
from whysync.kubernetes.controllers.deployment import DeploymentController
from whysync.kubernetes.controllers.garbage_collector import GarbageCollector
from whysync.kubernetes.controllers.job import JobController
from whysync.kubernetes.controllers.replicaset import ReplicaSetController
from whysync.kubernetes.controllers.statefulset import StatefulSetController
from whysync.kubernetes.controllers.ttl_after_finished import TtlAfterFinishedController


def workload_controllers(client: Client) -> list[Controller]:
    """Those that make pods first: whoever counts what they made sees them settled."""
    return [
        ReplicaSetController(client),
        StatefulSetController(client),
        DaemonSetController(client),
        JobController(client),
        CronJobController(client),
        TtlAfterFinishedController(client),
        DeploymentController(client),
        GarbageCollector(client),
    ]
