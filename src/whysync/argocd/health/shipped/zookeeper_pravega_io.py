"""Pravega's ZooKeeper. A status that counts neither kind of replica passes for healthy."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    healthy,
    in_order,
    isnt,
    present,
    progressing,
    same,
    when,
)

GROUP = "zookeeper.pravega.io"
CHECKS: dict[str, Check] = {
    "ZookeeperCluster": in_order(
        when(
            present(".status"),
            isnt(".status.readyReplicas", 0),
            same(".status.readyReplicas", ".status.replicas"),
            then=healthy("All ZK Nodes have joined the ensemble"),
        ),
        progressing("Waiting for ZK Nodes to join the ensemble"),
    ),
}
