"""Admission webhooks: which ones a write calls, and what happens when nobody answers.

A webhook that the model was told about (`Model.webhooks`, by name) is called as a function from object to
object. One whose Service is missing, or whose URL points at the machine itself, cannot be reached; all others
are taken to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import urlsplit

from whysync.cluster.model.failures import Refused
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
    if not any(_covers(fields(rule), call, operation) for rule in items(hook.get("rules"))):
        return False
    if not selects(hook.get("objectSelector"), fields(dig(obj, "metadata", "labels"))):
        return False
    place = (("", "namespaces"), "", call.address.namespace)
    namespace = store.get(place) if call.resource.namespaced else None
    if namespace is not None:
        return selects(hook.get("namespaceSelector"), fields(dig(namespace, "metadata", "labels")))
    return True


def _covers(rule: Object, call: Call, operation: str) -> bool:
    resource, sub = call.resource, call.address.subresource
    names = {"*", "*/*", resource.plural, f"{resource.plural}/*"} if not sub else {
        "*/*", f"*/{sub}", f"{resource.plural}/{sub}", f"{resource.plural}/*",
    }  # fmt: skip
    scope = text(rule.get("scope"), "*")
    return (
        _named(rule, "operations", {"*", operation})
        and _named(rule, "apiGroups", {"*", resource.group})
        and _named(rule, "apiVersions", {"*", resource.version})
        and _named(rule, "resources", names)
        and scope in {"*", "Namespaced" if resource.namespaced else "Cluster"}
    )


def _named(rule: Object, key: str, wanted: set[str]) -> bool:
    return any(text(value) in wanted for value in items(rule.get(key)))


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
