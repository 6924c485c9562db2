"""Services, who stands behind them, and containers that call each other through them."""

from __future__ import annotations

import pytest

from tests.kubernetes.controllers.playground import Playground, manifest, pod, service
from whysync.diagnosis.pods import log_root_cause
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.behavior import Behavior, LogLine, PodBehavior

_SLICES = ("discovery.k8s.io", "endpointslices")


def addresses(play: Playground, name: str, key: str = "addresses") -> list[str]:
    subsets = items(play.get("endpoints", name).get("subsets"))
    return [text(fields(raw).get("ip")) for subset in subsets for raw in items(fields(subset).get(key))]


def slices(play: Playground) -> list[Object]:
    return [obj for _, obj in play.api_server.store.within(_SLICES)]


def test_ready_pods_are_endpoints_of_their_service() -> None:
    play = Playground(PodBehavior(name="slow", ready_seconds=30))
    play.create(service("web"), pod("web"), pod("slow", labels={"app": "web"}), pod("other"))
    play.run(10)
    assert addresses(play, "web") == [play.status("web")["podIP"]]
    assert addresses(play, "web", "notReadyAddresses") == [play.status("slow")["podIP"]]
    (endpoint_slice,) = slices(play)
    ready = [dig(raw, "conditions", "ready") for raw in items(endpoint_slice["endpoints"])]
    assert sorted(map(bool, ready)) == [False, True]
    play.run(30)
    assert len(addresses(play, "web")) == 2
    play.delete("v1", "Pod", "slow")
    play.run(5)
    assert addresses(play, "web") == [play.status("web")["podIP"]]


def test_named_ports_are_those_of_each_pod() -> None:
    play = Playground()
    web = service("web")
    fields(web["spec"])["ports"] = [{"port": 80, "targetPort": "http"}]
    play.create(web)
    for name, port in (("a", 8080), ("b", 9090)):
        ports: Object = {"ports": [{"name": "http", "containerPort": port}]}
        play.create(pod(name, labels={"app": "web"}, container=ports))
    play.create(pod("c", labels={"app": "web"}))
    play.run(10)
    subsets = items(play.get("endpoints", "web")["subsets"])
    assert [dig(subset, "ports", 0, "port") for subset in subsets] == [8080, 9090]
    assert len(slices(play)) == 2


def test_a_service_that_goes_takes_its_endpoints_along() -> None:
    play = Playground()
    play.create(service("web"), pod())
    play.run(10)
    play.delete("v1", "Service", "web")
    play.run(10)
    assert play.find("endpoints", "web") is None
    assert slices(play) == []


def test_many_pods_are_cut_into_slices() -> None:
    play = Playground(nodes=20)
    play.create(service("web"), *(pod(f"web-{number}", labels={"app": "web"}) for number in range(230)))
    play.run(10)
    assert sorted(len(items(slice["endpoints"])) for slice in slices(play)) == [30, 100, 100]


def test_a_load_balancer_gets_an_address() -> None:
    play = Playground()
    play.create(service("web", type="LoadBalancer"))
    play.run(1)
    assert play.health("services", "web") == "Progressing"
    play.run(10)
    assert play.health("services", "web") == "Healthy"
    assert [reason for _, reason, _ in play.events()] == ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]


def test_a_load_balancer_that_never_comes() -> None:
    play = Playground(behavior=Behavior(load_balancers="pending"))
    play.create(service("web", type="LoadBalancer"), ingress())
    play.run(3600)
    assert play.health("services", "web") == "Progressing"
    assert play.health("ingresses", "web", group="networking.k8s.io") == "Progressing"


def ingress() -> Object:
    backend: Object = {"service": {"name": "web", "port": {"number": 80}}}
    return manifest("Ingress", "web", {"spec": {"defaultBackend": backend}}, "networking.k8s.io/v1")


def test_an_ingress_gets_an_address() -> None:
    play = Playground()
    play.create(ingress())
    play.run(10)
    assert play.health("ingresses", "web", group="networking.k8s.io") == "Healthy"


@pytest.mark.parametrize(
    ("names", "served"),
    [({"ingressClassName": "nginx"}, True), ({"ingressClassName": "traefik"}, False), ({}, False)],
)
def test_where_there_are_classes_an_ingress_has_to_name_one(names: Object, *, served: bool) -> None:
    play = Playground()
    nginx: Object = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": "nginx"},
        "spec": {"controller": "k8s.io/ingress-nginx"},
    }
    item = ingress()
    play.create(nginx, {**item, "spec": {**fields(item["spec"]), **names}})
    play.run(60)
    expected = "Healthy" if served else "Progressing"
    assert play.health("ingresses", "web", group="networking.k8s.io") == expected


def test_an_old_ingress_names_its_class_in_an_annotation_and_the_class_may_come_later() -> None:
    play = Playground()
    classes: list[Object] = [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": name},
            "spec": {"controller": f"example.com/{name}"},
        }
        for name in ("internal", "nginx")
    ]
    item = ingress()
    marked: Object = {**fields(item["metadata"]), "annotations": {"kubernetes.io/ingress.class": "nginx"}}
    play.create(classes[0], {**item, "metadata": marked})
    play.run(60)
    assert play.health("ingresses", "web", group="networking.k8s.io") == "Progressing"
    play.create(classes[1])
    play.run(60)
    assert play.health("ingresses", "web", group="networking.k8s.io") == "Healthy"


# -- calls --------------------------------------------------------------------------------------------

_MIGRATE = PodBehavior(name="migrate", calls=("db:5432",))


def migrate() -> Object:
    return pod("migrate", restartPolicy="Never")


def test_a_call_to_a_service_that_is_not_there() -> None:
    play = Playground(_MIGRATE)
    play.create(migrate())
    play.run(20)
    assert play.phase("migrate") == "Failed"
    message = "failed to connect to db:5432: dial tcp: lookup db on 10.96.0.10:53: no such host"
    assert play.life.logs.lines("shop", "migrate", "web") == [message]
    assert play.story("migrate").failing[0].exit_code == 1
    assert log_root_cause(play.story("migrate").logs) is not None


def test_a_call_to_a_service_with_nobody_behind_it() -> None:
    play = Playground(_MIGRATE)
    play.create(service("db", 5432))
    play.run(1)
    play.create(migrate())
    play.run(20)
    address = dig(play.get("services", "db"), "spec", "clusterIP")
    message = f"failed to connect to db:5432: dial tcp {address}:5432: connect: connection refused"
    assert play.life.logs.lines("shop", "migrate", "web") == [message]
    assert log_root_cause(play.story("migrate").logs) is not None


def test_a_call_to_the_wrong_port() -> None:
    play = Playground(_MIGRATE)
    play.create(service("db", 3306), pod("db"))
    play.run(20)
    play.create(migrate())
    play.run(20)
    assert play.life.logs.lines("shop", "migrate", "web")[0].endswith(":5432: i/o timeout")


@pytest.mark.parametrize("call", ["db:5432", "db.shop:5432", "db.shop.svc.cluster.local:5432", "db"])
def test_a_call_that_is_answered(call: str) -> None:
    play = Playground(
        PodBehavior(name="migrate", calls=(call,), log=(LogLine(text="done", after_seconds=1),))
    )
    play.create(service("db", 5432), pod("db"))
    play.run(20)
    play.create(migrate())
    play.run(20)
    assert play.phase("migrate") == "Succeeded"
    assert play.life.logs.lines("shop", "migrate", "web") == ["done"]


def test_a_container_waits_until_it_is_answered() -> None:
    play = Playground(PodBehavior(name="migrate", calls=("db:5432",), on_no_answer="wait", retry_seconds=5))
    play.create(migrate())
    play.run(60)
    assert play.phase("migrate") == "Running"
    waiting = play.life.logs.lines("shop", "migrate", "web")
    assert 10 <= len(waiting) <= 13
    assert waiting[0].startswith("waiting for db:5432: dial tcp")
    play.create(service("db", 5432), pod("db"))
    play.run(60)
    assert play.phase("migrate") == "Succeeded"


def test_a_headless_service_answers_by_its_pods() -> None:
    play = Playground(_MIGRATE)
    play.create(service("db", 5432, clusterIP="None"))
    play.run(1)
    play.create(migrate())
    play.run(20)
    assert play.life.logs.lines("shop", "migrate", "web")[0].endswith("no such host")
