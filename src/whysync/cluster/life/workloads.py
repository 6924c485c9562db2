"""The controllers of workloads, as the controller manager runs them."""

from __future__ import annotations

from whysync.cluster.life.collector import Collector
from whysync.cluster.life.controller import Controller
from whysync.cluster.life.desk import Desk


def workload_controllers(desk: Desk) -> list[Controller]:
    return [Collector(desk)]
