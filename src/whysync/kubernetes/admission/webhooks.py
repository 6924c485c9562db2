"""Admission webhooks: which ones a write calls, what they change or deny, and failures to call them.

A webhook in `ApiServer.webhooks` (by name) is called as a function, by the rules of its configuration in
the cluster. It returns the object, changed or not, or raises `Denied` or `Unreachable`. Of the other
webhooks, those are unreachable whose Service is missing or has no ready endpoint, or whose URL is a
loopback address; the rest is assumed to allow the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.admission.matching import covers, in_namespace, variables_of
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.values import CelError, UnknownValue
from whysync.kubernetes.validation.selectors import selects

Webhook: TypeAlias = Callable[[Object], Object]
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_UNSERVED_PORTS: Final = frozenset({1, 9})
"""tcpmux and discard: nobody serves HTTPS there. On another port of a control plane, a webhook may run: EKS
has some."""
_GROUP = "admissionregistration.k8s.io"
_SLICES = ("discovery.k8s.io", "endpointslices")
_MUTATING, _VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


class Denied(Exception):
    """A webhook denies the request, with this reason."""


class Unreachable(Exception):
    """A webhook cannot be called, with this error: `context deadline exceeded`, or a whole `Post "…": …`."""


def mutated(
    obj: Object, call: RequestContext, operation: str, store: Store, webhooks: dict[str, Webhook]
) -> Object:
    """The object after all matching mutating webhooks; raises `Refused`."""
    for hook in _hooks(_MUTATING, obj, None, call, operation, store):
        obj = _call(hook, obj, store, webhooks)
    return obj


def check_webhooks(
    obj: Object,
    old: Object | None,
    call: RequestContext,
    operation: str,
    store: Store,
    webhooks: dict[str, Webhook],
) -> None:
    """Raises `Refused` when a validating webhook denies the write, or cannot be called."""
    for hook in _hooks(_VALIDATING, obj, old, call, operation, store):
        _call(hook, obj, store, webhooks)


def _hooks(
    plural: str, obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> Iterator[Object]:
    """The matching webhooks, in the order in which they are called."""
    if call.resource.group == _GROUP:
        return
    for _, configuration in store.within((_GROUP, plural)):
        for raw in items(configuration.get("webhooks")):
            if _matches(fields(raw), obj, old, call, operation, store):
                yield fields(raw)


def _matches(
    hook: Object, obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> bool:
    if not any(covers(fields(rule), call, operation) for rule in items(hook.get("rules"))):
        return False
    labels = fields(dig(obj, "metadata", "labels"))
    old_labels = fields(dig(old or {}, "metadata", "labels"))
    selector = hook.get("objectSelector")
    if not selects(selector, labels) and (old is None or not selects(selector, old_labels)):
        return False
    if not in_namespace(hook.get("namespaceSelector"), call, store):
        return False
    conditions = [
        text(fields(match_condition).get("expression"))
        for match_condition in items(hook.get("matchConditions"))
    ]
    if not conditions:
        return True
    env = variables_of(obj, old, call, operation, store)
    return all(_condition_holds(condition, env) for condition in conditions)


def _condition_holds(expression: str, env: Object) -> bool:
    """Does the condition hold? One that cannot be evaluated does, so that the webhook is called."""
    try:
        return evaluate(expression, env) is not False
    except (CelError, UnknownValue):
        return True


def _call(hook: Object, obj: Object, store: Store, webhooks: dict[str, Webhook]) -> Object:
    name = text(hook.get("name"))
    problem = ""
    if name in webhooks:
        try:
            return webhooks[name](obj)
        except Denied as reason:
            message = f'admission webhook "{name}" denied the request: {reason}'
            raise Refused(400, "", message) from None
        except Unreachable as error:
            problem = str(error)
            if not problem.startswith("Post "):
                problem = f'Post "{_address(hook)}": {problem}'
    else:
        problem = _unreachable_problem(hook, store)
    if not problem or hook.get("failurePolicy") == "Ignore":
        return obj
    why = f'failed calling webhook "{name}": failed to call webhook: {problem}'
    raise Refused(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})


def _address(hook: Object) -> str:
    client = fields(hook.get("clientConfig"))
    wait = f"timeout={integer(hook.get('timeoutSeconds'), 10)}s"
    if client.get("url"):
        return f"{text(client['url'])}?{wait}"
    service = fields(client.get("service"))
    host = f"{text(service.get('name'))}.{text(service.get('namespace'))}.svc"
    return f"https://{host}:{integer(service.get('port'), 443)}{text(service.get('path'))}?{wait}"


def _unreachable_problem(hook: Object, store: Store) -> str:
    client = fields(hook.get("clientConfig"))
    url = text(client.get("url"))
    if url:
        parts = urlsplit(url)
        if parts.hostname not in _LOOPBACK or parts.port not in _UNSERVED_PORTS:
            return ""
        endpoint = f"{parts.hostname}:{parts.port}"
        return f'Post "{_address(hook)}": dial tcp {endpoint}: connect: connection refused'
    service = fields(client.get("service"))
    space, name = text(service.get("namespace")), text(service.get("name"))
    if store.get((("", "services"), space, name)) is None:
        return f'Post "{_address(hook)}": service "{name}" not found'
    if _has_no_ready_endpoint(space, name, store):
        return f'Post "{_address(hook)}": no endpoints available for service "{name}"'
    return ""


def _has_no_ready_endpoint(space: str, name: str, store: Store) -> bool:
    """Without facts about its endpoints (the usual case), the service is assumed to answer."""
    slices = [
        slice
        for _, slice in store.within(_SLICES, space)
        if text(dig(slice, "metadata", "labels", "kubernetes.io/service-name")) == name
    ]
    ready = any(
        dig(endpoint, "conditions", "ready") is not False
        for slice in slices
        for endpoint in items(slice.get("endpoints"))
    )
    return bool(slices) and not ready
