"""Where pods go, and what is said of those that go nowhere."""

from __future__ import annotations

import pytest

from tests.kubernetes.controllers.playground import Playground, manifest, pod
from whysync.golang.quantity import milli_value
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import Unschedulable

_HELPLESS = (
    "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for "
    "scheduling."
)


def asking(cpu: str) -> Object:
    return {"resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("spec", "reasons"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "3 node(s) didn't match Pod's node affinity/selector"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                            ]
                        }
                    }
                }
            },
            "3 node(s) didn't match Pod's node affinity/selector",
        ),
        ({"container": asking("400")}, "3 Insufficient cpu"),
        ({"container": {"resources": {"limits": {"acme.com/gpu": "1"}}}}, "3 Insufficient acme.com/gpu"),
    ],
)  # fmt: skip
def test_an_unschedulable_pod_reports_every_reason(spec: Object, reasons: str) -> None:
    play = Playground()
    play.create(pod(**spec))  # pyright: ignore[reportArgumentType]  # the container is an object too
    play.run(30)
    condition = play.condition("PodScheduled")
    message = f"0/3 nodes are available: {reasons}. {_HELPLESS}"
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "False",
        "Unschedulable",
        message,
    )
    assert ("Warning", "FailedScheduling", message) in play.events()
    assert play.phase() == "Pending"
    assert play.health() == "Progressing"
    assert any(isinstance(failure, Unschedulable) for failure in understand(message).failures)


def test_a_full_cluster_takes_the_pod_when_another_goes() -> None:
    play = Playground(nodes=1)
    cpu = dig(play.get("nodes", "node-1", namespace=""), "status", "allocatable", "cpu")
    play.create(pod("first", container=asking(str(cpu))))
    play.run(10)
    play.create(pod("second", container=asking("1")))
    play.run(10)
    assert "1 Insufficient cpu. " in str(play.condition("PodScheduled", "second")["message"])
    assert "No preemption victims found for incoming pod" in str(
        play.condition("PodScheduled", "second")["message"]
    )
    play.delete("v1", "Pod", "first")
    play.run(10)
    assert play.phase("second") == "Running"


def test_a_taint_is_not_tolerated_and_then_gone() -> None:
    play = Playground(nodes=1)
    node = play.get("nodes", "node-1", namespace="")
    tainted: Object = {**node, "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}
    play.api_server.load([tainted])
    play.create(pod("shy"), pod("bold", tolerations=[{"key": "a", "operator": "Exists"}]))
    play.run(10)
    assert "1 node(s) had untolerated taint(s)" in str(play.condition("PodScheduled", "shy")["message"])
    assert play.phase("bold") == "Running"
    play.api_server.load([node])
    play.run(10)
    assert play.phase("shy") == "Running"


def test_host_ports_are_for_one_pod_of_a_node() -> None:
    play = Playground(nodes=1)
    port: Object = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    play.create(pod("one", container=port), pod("two", container=port))
    play.run(10)
    message = "1 node(s) didn't have free ports for the requested pod ports"
    assert message in str(play.condition("PodScheduled", "two")["message"])


def test_pods_that_shun_each_other_get_a_node_each() -> None:
    play = Playground()
    far: Object = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    for number in range(4):
        play.create(pod(f"db-{number}", labels={"app": "db"}, affinity=far))
    play.run(10)
    nodes = {str(dig(play.get("pods", f"db-{number}"), "spec", "nodeName")) for number in range(3)}
    assert nodes == {"node-1", "node-2", "node-3"}
    assert "3 node(s) didn't match pod anti-affinity rules" in str(
        play.condition("PodScheduled", "db-3")["message"]
    )


def test_a_pod_is_scheduled_when_the_one_it_must_run_beside_is() -> None:
    play = Playground()
    near: Object = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    play.create(pod("web", affinity=near))
    play.run(10)
    assert "didn't match pod affinity rules" in str(play.condition("PodScheduled", "web")["message"])
    play.create(pod("db", labels={"app": "db"}))
    play.run(10)
    nodes = {str(dig(play.get("pods", name), "spec", "nodeName")) for name in ("web", "db")}
    assert len(nodes) == 1


def test_the_script_can_keep_pods_from_all_nodes() -> None:
    play = Playground(PodBehavior(name="web*", unschedulable="node(s) had disk pressure"))
    play.create(pod())
    play.run(10)
    assert str(play.condition("PodScheduled")["message"]).startswith(
        "0/3 nodes are available: 3 node(s) had disk pressure. "
    )


def test_without_nodes_nothing_is_scheduled() -> None:
    play = Playground(nodes=0)
    play.create(pod())
    play.run(10)
    assert play.condition("PodScheduled")["message"] == "no nodes available to schedule pods"


def test_a_stopped_scheduler_leaves_pods_alone() -> None:
    play = Playground(behavior=Behavior(stopped=frozenset({"scheduler"})))
    play.create(pod())
    play.run(60)
    assert play.status().get("conditions") is None


# -- claims -------------------------------------------------------------------------------------------


def claim(name: str = "data", **spec: object) -> Object:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return manifest("PersistentVolumeClaim", name, {"spec": body})  # pyright: ignore[reportArgumentType]


def with_claim(name: str = "data") -> Object:
    return pod(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def phase_of_claim(play: Playground, name: str = "data") -> object:
    return dig(play.get("persistentvolumeclaims", name), "status", "phase")


def test_a_claim_gets_a_volume_and_its_pod_starts() -> None:
    play = Playground()
    play.create(claim(), with_claim())
    play.run(0)
    assert "pod has unbound immediate PersistentVolumeClaims" in str(
        play.condition("PodScheduled")["message"]
    )
    assert play.health("persistentvolumeclaims", "data") == "Progressing"
    play.run(10)
    assert phase_of_claim(play) == "Bound"
    assert play.health("persistentvolumeclaims", "data") == "Healthy"
    assert play.phase() == "Running"
    volume = dig(play.get("persistentvolumeclaims", "data"), "spec", "volumeName")
    assert dig(play.get("persistentvolumes", str(volume), namespace=""), "status", "phase") == "Bound"


def test_a_claim_that_is_not_there() -> None:
    play = Playground()
    play.create(with_claim("nope"))
    play.run(10)
    message = '0/3 nodes are available: persistentvolumeclaim "nope" not found. not found'
    assert play.condition("PodScheduled")["message"] == message
    play.create(claim("nope"))
    play.run(10)
    assert play.phase() == "Running"


def test_a_class_that_is_not_there() -> None:
    play = Playground()
    play.create(claim(storageClassName="fast"), with_claim())
    play.run(60)
    assert phase_of_claim(play) == "Pending"
    message = 'storageclass.storage.k8s.io "fast" not found'
    assert ("Warning", "ProvisioningFailed", message) in play.events("data")
    fast: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "ebs.csi.aws.com",
    }
    play.create(fast)
    play.run(10)
    assert play.phase() == "Running"


def test_a_claim_without_any_class() -> None:
    play = Playground()
    play.create(claim(storageClassName=""))
    play.run(10)
    message = "no persistent volumes available for this claim and no storage class is set"
    assert ("Normal", "FailedBinding", message) in play.events("data")
    assert phase_of_claim(play) == "Pending"


def test_a_class_that_waits_for_a_pod() -> None:
    play = Playground()
    lazy: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "lazy"},
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    play.create(lazy, claim(storageClassName="lazy"))
    play.run(60)
    assert phase_of_claim(play) == "Pending"
    message = "waiting for first consumer to be created before binding"
    assert ("Normal", "WaitForFirstConsumer", message) in play.events("data")
    play.create(with_claim())
    play.run(10)
    assert phase_of_claim(play) == "Bound"
    assert play.phase() == "Running"


def test_a_provisioner_that_never_answers() -> None:
    play = Playground(behavior=Behavior(volumes="pending"))
    play.create(claim(), with_claim())
    play.run(600)
    assert phase_of_claim(play) == "Pending"
    assert [reason for _, reason, _ in play.events("data")] == ["ExternalProvisioning"]
    assert play.phase() == "Pending"


def test_a_volume_that_is_there_is_taken_and_left() -> None:
    play = Playground()
    spec: Object = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "manual",
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/data"},
    }
    play.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "one"}, "spec": spec})
    play.run(1)
    assert dig(play.get("persistentvolumes", "one", namespace=""), "status", "phase") == "Available"
    play.create(claim(storageClassName="manual"))
    play.run(1)
    assert dig(play.get("persistentvolumeclaims", "data"), "spec", "volumeName") == "one"
    play.delete("v1", "PersistentVolumeClaim", "data")
    play.run(10)
    assert dig(play.get("persistentvolumes", "one", namespace=""), "status", "phase") == "Released"


def test_a_made_volume_goes_with_its_claim() -> None:
    play = Playground()
    play.create(claim())
    play.run(10)
    play.delete("v1", "PersistentVolumeClaim", "data")
    play.run(10)
    assert list(play.api_server.store.within(("", "persistentvolumes"))) == []


def test_a_pod_has_a_volume_of_its_own() -> None:
    play = Playground()
    template: Object = {"spec": fields(claim()["spec"])}
    play.create(pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]))
    play.run(10)
    assert phase_of_claim(play, "web-scratch") == "Bound"
    assert play.phase() == "Running"


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [
        ("1", 1000),
        ("250m", 250),
        ("1Ki", 1_024_000),
        ("2G", 2 * 10**12),
        (3, 3000),
        ("x", 0),
        (True, 0),
        (None, 0),
    ],
)
def test_quantities(quantity: str | int | None, amount: int) -> None:
    assert milli_value(quantity) == amount
