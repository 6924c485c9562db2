"""Workloads for the tests of their controllers, and ways to look at them."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.controllers.object_index import controller_of

SCHEDULE = "*/5 * * * *"


def template(app: str, *, image: str = "nginx:1", **spec: Json) -> Object:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "web", "image": image}], **spec},
    }


def workload(
    kind: str, name: str = "web", *, image: str = "nginx:1", pod: Object | None = None, **spec: Json
) -> Object:
    body: Object = {
        "selector": {"matchLabels": {"app": name}},
        "template": template(name, image=image, **(pod or {})),
        **spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": body,
    }


def job(name: str = "migrate", *, restart: str = "Never", **spec: Json) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "template": {
                "spec": {"restartPolicy": restart, "containers": [{"name": "web", "image": "migrate:1"}]}
            },
            **spec,
        },
    }


def cron_job(name: str = "nightly", *, schedule: str = SCHEDULE, **spec: Json) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def patched(play: Playground, path: str, body: Object) -> None:
    answer = play.api_server.send(Request(verb="merge-patch", path=path, body=body, manager="kubectl"))
    assert answer.ok, answer.body


def image_set(play: Playground, plural: str, image: str, name: str = "web") -> None:
    containers: list[Json] = [{"name": "web", "image": image}]
    body: Object = {"spec": {"template": {"spec": {"containers": containers}}}}
    patched(play, f"/apis/apps/v1/namespaces/shop/{plural}/{name}", body)


def pods_of(play: Playground, name: str) -> list[Object]:
    """The pods that a controller of that name has."""
    return [
        pod for _, pod in play.api_server.store.within(("", "pods")) if controller_of(pod).get("name") == name
    ]


def owned(play: Playground, group: str, plural: str, name: str) -> list[Object]:
    return [
        obj
        for _, obj in play.api_server.store.within((group, plural))
        if controller_of(obj).get("name") == name
    ]


def condition(obj: Object, kind: str) -> tuple[str, str, str]:
    for raw in items(dig(obj, "status", "conditions")):
        item = fields(raw)
        if item.get("type") == kind:
            return text(item.get("status")), text(item.get("reason")), text(item.get("message"))
    return "", "", ""


def counts(obj: Object, *keys: str) -> tuple[int, ...]:
    return tuple(integer(dig(obj, "status", key)) for key in keys)


def images(pods: list[Object]) -> set[str]:
    return {text(dig(pod, "spec", "containers", 0, "image")) for pod in pods}
