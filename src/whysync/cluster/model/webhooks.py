"""Admission webhooks: which ones a write calls, and what happens when nobody answers.

A webhook that the model was told about (`Model.webhooks`, by name) is called as a function from object to
object. One whose Service is missing, or whose URL points at the machine itself, cannot be reached; all others
are taken to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import urlsplit

from whysync.cluster.model.cel import evaluate
from whysync.cluster.model.cel_values import CelError, NotKnown
from whysync.cluster.model.failures import Refused
from whysync.cluster.model.matching import covers, in_namespace
from whysync.cluster.model.requests import Call
from whysync.cluster.model.selectors import selects
from whysync.cluster.model.store import Store
from whysync.contracts.tree import Object, dig, fields, integer, items, text

Webhook: TypeAlias = Callable[[Object], Object]
_GROUP = "admissionregistration.k8s.io"
_CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def admitted(obj: Object, call: Call, operation: str, store: Store, told: dict[str, Webhook]) -> Object:
    """The object after all webhooks that look at it; raises `Refused`."""
    if call.resource.group == _GROUP:
        return obj
    for plural in _CONFIGURATIONS:
        for _, configuration in store.within((_GROUP, plural)):
            for raw in items(configuration.get("webhooks")):
                hook = fields(raw)
                if _looks(hook, obj, call, operation, store):
                    obj = _called(hook, obj, store, told)
    return obj


def _looks(hook: Object, obj: Object, call: Call, operation: str, store: Store) -> bool:
    if not any(covers(fields(rule), call, operation) for rule in items(hook.get("rules"))):
        return False
    if not selects(hook.get("objectSelector"), fields(dig(obj, "metadata", "labels"))):
        return False
    if not in_namespace(hook.get("namespaceSelector"), call, store):
        return False
    return all(_holds(text(fields(one).get("expression")), obj) for one in items(hook.get("matchConditions")))


def _holds(expression: str, obj: Object) -> bool:
    """A condition that cannot be judged counts as met: the webhook is called."""
    try:
        return evaluate(expression, {"object": obj}) is not False
    except (CelError, NotKnown):
        return True


def _called(hook: Object, obj: Object, store: Store, told: dict[str, Webhook]) -> Object:
    name = text(hook.get("name"))
    if name in told:
        return told[name](obj)
    problem = _out_of_reach(hook, store)
    if not problem or hook.get("failurePolicy") == "Ignore":
        return obj
    why = f'failed calling webhook "{name}": failed to call webhook: {problem}'
    raise Refused(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})


def _out_of_reach(hook: Object, store: Store) -> str:
    client = fields(hook.get("clientConfig"))
    wait = f"timeout={integer(hook.get('timeoutSeconds'), 10)}s"
    url = text(client.get("url"))
    if url:
        parts = urlsplit(url)
        if parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
            return ""
        where = f"{parts.hostname}:{parts.port or 443}"
        return f'Post "{url}?{wait}": dial tcp {where}: connect: connection refused'
    service = fields(client.get("service"))
    space, name = text(service.get("namespace")), text(service.get("name"))
    if store.get((("", "services"), space, name)) is not None:
        return ""
    port, path = integer(service.get("port"), 443), text(service.get("path"))
    return f'Post "https://{name}.{space}.svc:{port}{path}?{wait}": service "{name}" not found'
