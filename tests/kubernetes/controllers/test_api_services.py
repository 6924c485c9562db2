"""An aggregated API is available as soon as its Service has a ready endpoint."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground
from whysync.json_tree import Object, dig
from whysync.kubernetes.apiserver.protocol import Request

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = "v1beta1.metrics.example.com"
LABELS: Object = {"app": "metrics"}
SPEC: Object = {
    "group": "metrics.example.com",
    "version": "v1beta1",
    "groupPriorityMinimum": 100,
    "versionPriority": 100,
}
API_SERVICE: Object = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": NAME},
    "spec": {**SPEC, "insecureSkipTLSVerify": True, "service": {"name": "metrics", "namespace": "shop"}},
}


def service(port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics", "namespace": "shop"},
        "spec": {"selector": LABELS, "ports": [{"name": "https", "port": port, "targetPort": 6443}]},
    }


DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "metrics", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "metrics", "image": "metrics:1"}]},
        },
    },
}


def create(play: Playground, path: str, body: Object) -> None:
    assert play.api_server.send(Request(verb="create", path=path, body=body, manager="test")).ok
    play.run(30)


def available(play: Playground) -> tuple[object, object]:
    body = play.api_server.send(Request(verb="get", path=f"{PATH}/{NAME}")).body
    condition = dig(body, "status", "conditions", 0)
    return dig(condition, "status"), dig(condition, "reason")


def test_it_waits_for_the_service_and_for_a_ready_pod() -> None:
    play = Playground()
    create(play, PATH, API_SERVICE)
    assert available(play) == ("False", "ServiceNotFound")
    create(play, "/api/v1/namespaces/shop/services", service(443))
    assert available(play) == ("False", "MissingEndpoints")
    create(play, "/apis/apps/v1/namespaces/shop/deployments", DEPLOYMENT)
    assert available(play) == ("True", "Passed")


def test_a_service_that_does_not_listen_on_the_port() -> None:
    play = Playground()
    create(play, "/api/v1/namespaces/shop/services", service(8443))
    create(play, PATH, API_SERVICE)
    assert available(play) == ("False", "ServicePortError")


def test_an_api_of_the_server_itself() -> None:
    play = Playground()
    create(play, PATH, {**API_SERVICE, "spec": SPEC})
    assert available(play) == ("True", "Local")
