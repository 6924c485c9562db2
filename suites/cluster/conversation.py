"""One conversation held twice: with a real server and with the model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from msgspec.structs import replace

from suites.cluster.comparing import differences
from suites.cluster.normal import Eyes
from suites.cluster.steps import NS, Case, Step, tree
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.kubectl.client_side_apply import client_side_apply

_BEGINNING = ("default", "kube-system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What came of one request."""

    at: str
    verb: str
    path: str
    problems: tuple[str, ...]


class Side:
    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace
        self._slow = namespace != NS
        self._eyes = Eyes({namespace: NS})
        self.send(namespace_of(NS))

    def send(self, request: Request) -> Object:
        return self._eyes.see(self.answer(request))

    def answer(self, request: Request) -> Answer:
        return self._cluster.send(self._own(request))

    def take(self, step: Step) -> Object:
        request = step.request
        if request.verb == "apply":
            own = self._own(request)
            done = client_side_apply(self._cluster, fields(own.body), collection=own.path)
            return {"outcome": done.outcome, **self._eyes.see(done.answer)}
        if step.until:
            self._wait(request, step.until)
        if step.update:
            read = Request(verb="get", path=request.path)
            result = self.answer(read)
            if not result.ok:
                return self._eyes.see(result)
            request = replace(request, body=merged(result.body, tree(step.update.replace("NS", NS))))
        return self.send(request)

    def _wait(self, request: Request, code: int) -> None:
        for _ in range(100):
            if self.answer(request).code == code or not self._slow:
                return
            time.sleep(0.1)

    def _own(self, request: Request) -> Request:
        if self._namespace == NS:
            return request
        body: Json = request.body
        if body is not None:
            body = cast(Json, json.loads(json.dumps(body).replace(NS, self._namespace)))
        return replace(
            request,
            path=request.path.replace(NS, self._namespace),
            body=body,
            user=request.user.replace(NS, self._namespace),
        )


class Conversation:
    """`namespace` is what `NS` is called on the real server: as long, as sizes are part of some answers."""

    def __init__(self, real: Cluster, namespace: str) -> None:
        assert len(namespace) == len(NS)
        self._clock = Clock(datetime.now(UTC))
        model = ApiServer(self._clock)
        for name in _BEGINNING:
            model.send(namespace_of(name))
        self.model = Side(model, NS)
        self.real = Side(real, namespace)

    def compare(self, step: Step, at: str) -> Compared:
        self._clock.advance(1)
        result = differences(self.real.take(step), self.model.take(step))
        return Compared(at=at, verb=step.request.verb, path=step.request.path, problems=tuple(result))


def held(real: Cluster, case: Case, namespace: str) -> Iterator[Compared]:
    talk = Conversation(real, namespace)
    for number, step in enumerate(case.steps):
        yield talk.compare(step, f"{case.id}#{number}")


def namespace_of(name: str) -> Request:
    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    return Request(verb="create", path="/api/v1/namespaces", body=body)


def merged(value: Json, change: Json) -> Json:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    new = dict(fields(value))
    for key, item in change.items():
        if item is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key), item)
    return new
