"""How many pods a changed template restarts, and how, by kind and update strategy."""

from __future__ import annotations

import pytest

from whysync.json_tree import Object
from whysync.proofs.restarts import restart_of

PARTITION: Object = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
ON_DELETE: Object = {"updateStrategy": {"type": "OnDelete"}}
CASES: list[tuple[str, Object, int, str]] = [
    ("Deployment", {}, 3, "in a rolling update"),
    ("Deployment", {"strategy": {"type": "Recreate"}}, 3, "all at once: it is down meanwhile"),
    ("Deployment", {"paused": True}, 0, "it is paused"),
    ("Deployment", {"paused": False}, 3, "in a rolling update"),
    ("StatefulSet", {}, 3, "one after the other"),
    ("StatefulSet", ON_DELETE, 0, "its pods are not restarted until they are deleted"),
    ("StatefulSet", PARTITION, 1, "one after the other (partition 2)"),
    ("DaemonSet", {}, 3, "one node after the other"),
    (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}},
        3,
        "one node after the other",
    ),
    (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}},
        3,
        "on up to 50% of the nodes at a time",
    ),
    ("DaemonSet", ON_DELETE, 0, "its pods are not restarted until they are deleted"),
    ("ReplicaSet", {}, 0, "its pods are not restarted"),
    ("Rollout", {"strategy": {"blueGreen": {"activeService": "a"}}}, 3, "by the steps of its blue-green"),
    ("Rollout", {"strategy": {"canary": {}}}, 3, "by the steps of its canary"),
]


@pytest.mark.parametrize(("kind", "spec", "restarted", "how"), CASES)
def test_restart(kind: str, spec: Object, restarted: int, how: str) -> None:
    restart = restart_of({"kind": kind, "spec": spec}, 3)
    assert restart.restarted == restarted
    assert restart.how.startswith(how)


@pytest.mark.parametrize(("partition", "restarted"), [(0, 3), (2, 1), (3, 0), (7, 0)])
def test_pods_below_the_partition_stay(partition: int, restarted: int) -> None:
    spec: Object = {"updateStrategy": {"rollingUpdate": {"partition": partition}}}
    assert restart_of({"kind": "StatefulSet", "spec": spec}, 3).restarted == restarted
