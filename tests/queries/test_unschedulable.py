"""Why no node takes a Pod, by the nodes at hand."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.unschedulable import why_unschedulable


def node(name: str, cpu: str, **labels: str) -> Object:
    allocatable: Object = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    meta: Object = {"name": name, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": allocatable}}


NODES = (node("small", "4", pool="web", zone="a"), node("large", "16", pool="batch", zone="b"))


def pod(selector: Object | None = None, **requests: str) -> Manifest:
    container: Object = {"name": "web", "resources": {"requests": dict(requests)}}
    spec: Object = {"nodeSelector": selector or {}, "containers": [container]}
    return Manifest(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}, role=Role.LIVE
    )


@pytest.mark.parametrize(
    ("pending_pod", "why"),
    [
        (pod({"pool": "gpu"}), "no node has the label pool=gpu"),
        (pod({"pool": "web", "zone": "b"}), "no node has all the labels pool=web, zone=b"),
        (pod(cpu="24"), "it requests more cpu than any node has (16 at most)"),
        (pod(cpu="16001m"), "it requests more cpu than any node has (16 at most)"),
        (pod(memory="9Gi"), "it requests more memory than any node has (8Gi at most)"),
        (pod({"pool": "batch"}, cpu="16", memory="8Gi"), ""),  # then others are in its way
        (pod(cpu="no number"), ""),
    ],
)
def test_what_no_node_has(pending_pod: Manifest, why: str) -> None:
    assert why_unschedulable(case_of(application(), *NODES), pending_pod) == why


def test_without_nodes_nothing_is_said() -> None:
    assert why_unschedulable(case_of(application()), pod(cpu="24")) == ""
