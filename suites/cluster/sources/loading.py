"""Put the end of a lab scenario onto a real API server, and take it away again."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

from suites.cluster.sources.definitions import definitions
from suites.cluster.sources.real_cluster import collection, name
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request

# The server sets these itself.
_ITS_OWN: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
# In this order: what others need first, what hinders others last.
_FIRST: Final = ("CustomResourceDefinition", "Namespace", "StorageClass", "PriorityClass", "ServiceAccount")
_LAST: Final = (
    "LimitRange",
    "ResourceQuota",
    "ValidatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
_KEPT_NAMESPACES: Final = frozenset(("default", "kube-system", "kube-public", "kube-node-lease", "argocd"))
CLOSED: Final = "https://127.0.0.1:1/"


class Unloadable(Exception):
    """The server does not take an object as the model has it; the text says which and why."""


def harmless(body: Object) -> Object:
    """No server may be dialled but a closed port of loopback: a Service's address is neither."""
    body = copy_object(body)
    if body.get("kind") in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in items(body.get("webhooks")):
            client = fields(fields(hook).get("clientConfig"))
            client.pop("service", None)
            client["url"] = CLOSED
            client.pop("caBundle", None)
    return body


@contextmanager
def loaded(real: Cluster, objects: Iterable[Object]) -> Generator[None]:
    """In the right order; whatever happens, all of it is deleted again, the hindering things first."""
    made: list[Object] = []
    try:
        for body in sorted(objects, key=_order):
            if _is_there(body):
                continue
            _check(body)
            made.append(body)
            _put(real, body)
        for body in reversed(made):  # namespaces come first and go last: nothing can be made in one that goes
            if dig(body, "metadata", "deletionTimestamp"):
                _delete(real, body)
        yield
    finally:
        for body in reversed(made):
            _take_away(real, body)


def _is_there(body: Object) -> bool:
    """Argo CD's own kinds are defined before any scenario, and all of them need these."""
    own = {name(definition) for definition in definitions()}
    return body.get("kind") == "CustomResourceDefinition" and name(body) in own


def _delete(real: Cluster, body: Object) -> None:
    """A namespace takes the words of what deletes it only while it is being deleted."""
    path = f"{collection(body)}/{name(body)}"
    _sent(real, Request(verb="delete", path=path))
    if body.get("kind") == "Namespace":
        change: Object = {"status": body.get("status")}
        _sent(real, Request(verb="merge-patch", path=f"{path}/status", body=change, manager="loading"))


def _order(body: Object) -> int:
    kind = text(body.get("kind"))
    if kind in _FIRST:
        return _FIRST.index(kind) - len(_FIRST)
    return 1 + _LAST.index(kind) if kind in _LAST else 0


def _check(body: Object) -> None:
    if dig(body, "spec", "conversion", "strategy") == "Webhook" or body.get("kind") == "APIService":
        raise Unloadable(f"{ref_of(body)} would make the server dial an address")


def _put(real: Cluster, body: Object) -> None:
    copy = copy_object(body)
    meta = fields(copy.get("metadata"))
    managers = meta.get("managedFields")
    for key in _ITS_OWN:
        meta.pop(key, None)
    if body.get("kind") == "Job":
        _without_uid(copy)
    status = copy.pop("status", None)
    path = f"{collection(body)}/{name(body)}"
    custom = _keeps_status(real, body)
    if custom and status is not None:
        copy["status"] = status
    answer = _sent(real, Request(verb="create", path=collection(body), body=copy, manager="loading"))
    if answer.code == 409:
        answer = _replaced(real, path, copy)
    if not answer.ok:
        raise Unloadable(
            f"{ref_of(body)}: {answer.code} {text(fields(answer.body).get('message')) or answer.text}"
        )
    if status and not custom:
        change: Object = {"status": status}
        _sent(real, Request(verb="merge-patch", path=f"{path}/status", body=change, manager="loading"))
    if managers:
        _with_managers(real, path, managers)
    if body.get("kind") == "CustomResourceDefinition":
        _wait_for(real, body)


def _without_uid(job: Object) -> None:
    """The server writes a Job's own uid into its selector and its Pods' labels."""
    spec = fields(job.get("spec"))
    spec.pop("selector", None)
    labels = fields(dig(spec, "template", "metadata", "labels"))
    for label in [label for label in labels if label.endswith("controller-uid")]:
        del labels[label]


def _keeps_status(real: Cluster, body: Object) -> bool:
    """A custom kind without the subresource takes its status along with the rest."""
    group = text(body.get("apiVersion")).partition("/")[0]
    if "." not in group or group.endswith(".k8s.io"):
        return False
    path = f"/apis/{text(body.get('apiVersion'))}"
    result = real.send(Request(verb="get", path=path)).body or {}
    kinds = [fields(resource) for resource in items(result.get("resources"))]
    return not any(
        kind.get("kind") == body.get("kind") and text(kind.get("name")).endswith("/status") for kind in kinds
    )


def _with_managers(real: Cluster, path: str, managers: Json) -> None:
    """Who wrote what is part of an object that an update may bring along."""
    body = real.send(Request(verb="get", path=path)).body or {}
    fields(body.get("metadata"))["managedFields"] = managers
    _sent(real, Request(verb="update", path=path, body=body, manager="loading"))


def _replaced(real: Cluster, path: str, expected: Object) -> Answer:
    body = real.send(Request(verb="get", path=path)).body or {}
    fields(expected.get("metadata"))["resourceVersion"] = text(dig(body, "metadata", "resourceVersion"))
    return _sent(real, Request(verb="update", path=path, body={**body, **expected}, manager="loading"))


def _sent(real: Cluster, request: Request) -> Answer:
    """The server forgets a webhook a moment after it was deleted."""
    until = time.monotonic() + 10
    while True:
        answer = real.send(request)
        message = text(fields(answer.body).get("message"))
        if "failed calling webhook" not in message or time.monotonic() > until:
            return answer
        time.sleep(0.1)


def _wait_for(real: Cluster, definition: Object) -> None:
    group, plural = text(dig(definition, "spec", "group")), text(dig(definition, "spec", "names", "plural"))
    until = time.monotonic() + 10
    for version in items(dig(definition, "spec", "versions")):
        path = f"/apis/{group}/{text(fields(version).get('name'))}/{plural}"
        while not real.send(Request(verb="list", path=path)).ok and time.monotonic() < until:
            time.sleep(0.05)


def _take_away(real: Cluster, body: Object) -> None:
    path = f"{collection(body)}/{name(body)}"
    if body.get("kind") == "Namespace":
        if name(body) in _KEPT_NAMESPACES:
            return
        real.send(Request(verb="delete", path=path))
        left = real.send(Request(verb="get", path=path)).body or {}
        left["spec"] = {"finalizers": []}
        real.send(Request(verb="update", path=f"{path}/finalize", body=left))
        return
    free: Object = {"metadata": {"finalizers": None}}
    real.send(Request(verb="merge-patch", path=path, body=free))
    real.send(Request(verb="delete", path=path, grace=0))
    real.send(Request(verb="merge-patch", path=path, body=free))
