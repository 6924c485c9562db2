"""A Deployment as somebody wrote it down, without the defaults of the API server."""

from __future__ import annotations

from datetime import timedelta

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Timeline


def test_it_has_one_replica_set_for_one_template() -> None:
    container: Object = {"name": "web", "image": "registry.example.com/web:1"}
    labels: Object = {"app": "web"}
    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    model = ApiServer()
    model.load([deployment])
    Timeline(model.clock, [ControllerManager(model)]).run(timedelta(minutes=5))
    kinds = [obj["kind"] for obj in model.objects()]
    assert (kinds.count("ReplicaSet"), kinds.count("Pod")) == (1, 2)
