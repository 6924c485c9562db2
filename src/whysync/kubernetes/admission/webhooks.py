"""Admission webhooks: which ones a write calls, what they change or deny, and failures to call them.

A webhook that the model was told about (`Model.webhooks`, by name) is called as a function from object to
object, by the rules of its configuration in the cluster. It gives back the object, changed or not, or raises
`Denied` or `Unreachable`. Of those that nobody told about, one whose Service is missing, or whose URL points
at the machine itself, cannot be reached, nor one whose Service is known to have no pod that is ready; all
others are taken to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.admission.matching import covers, in_namespace, variables_of
from whysync.kubernetes.apiserver.label_selectors import selects
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.values import CelError, UnknownValue

Webhook: TypeAlias = Callable[[Object], Object]
_GROUP = "admissionregistration.k8s.io"
_SLICES = ("discovery.k8s.io", "endpointslices")
_MUTATING, _VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


class Denied(Exception):
    """A webhook denies the request, usually with code 403 and reason Forbidden."""

    def __init__(self, why: str = "", *, code: int = 400, reason: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.code = code
        self.reason = reason


class Unreachable(Exception):
    """A webhook cannot be called: `context deadline exceeded`, or a whole `Post "https://…": …`."""

    def __init__(self, problem: str = "context deadline exceeded") -> None:
        super().__init__(problem)
        self.problem = problem


def mutated(
    obj: Object, call: RequestContext, operation: str, store: Store, webhooks: dict[str, Webhook]
) -> Object:
    """The object after all mutating webhooks that look at it; raises `Refused`."""
    for hook in _hooks(_MUTATING, obj, None, call, operation, store):
        obj = _called(hook, obj, store, webhooks)
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
        _called(hook, obj, store, webhooks)


def _hooks(
    plural: str, obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> Iterator[Object]:
    """Those that look at the write, in the order in which they are called."""
    if call.resource.group == _GROUP:
        return
    for _, configuration in store.within((_GROUP, plural)):
        for raw in items(configuration.get("webhooks")):
            if _looks(fields(raw), obj, old, call, operation, store):
                yield fields(raw)


def _looks(
    hook: Object, obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> bool:
    if not any(covers(fields(rule), call, operation) for rule in items(hook.get("rules"))):
        return False
    labels = fields(dig(obj, "metadata", "labels"))
    before = fields(dig(old or {}, "metadata", "labels"))
    selector = hook.get("objectSelector")
    if not selects(selector, labels) and (old is None or not selects(selector, before)):
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
    return all(_holds(condition, env) for condition in conditions)


def _holds(expression: str, env: Object) -> bool:
    """A condition that cannot be judged counts as met: the webhook is called."""
    try:
        return evaluate(expression, env) is not False
    except (CelError, UnknownValue):
        return True


def _called(hook: Object, obj: Object, store: Store, webhooks: dict[str, Webhook]) -> Object:
    name = text(hook.get("name"))
    problem = ""
    if name in webhooks:
        try:
            return webhooks[name](obj)
        except Denied as denial:
            why = f": {denial.why}" if denial.why else " without explanation"
            message = f'admission webhook "{name}" denied the request{why}'
            raise Refused(denial.code, denial.reason, message) from None
        except Unreachable as silence:
            problem = silence.problem
            if not problem.startswith("Post "):
                problem = f'Post "{_address(hook)}": {problem}'
    else:
        problem = _out_of_reach(hook, store)
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


def _out_of_reach(hook: Object, store: Store) -> str:
    client = fields(hook.get("clientConfig"))
    url = text(client.get("url"))
    if url:
        parts = urlsplit(url)
        if parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
            return ""
        where = f"{parts.hostname}:{parts.port or 443}"
        return f'Post "{_address(hook)}": dial tcp {where}: connect: connection refused'
    service = fields(client.get("service"))
    space, name = text(service.get("namespace")), text(service.get("name"))
    if store.get((("", "services"), space, name)) is None:
        return f'Post "{_address(hook)}": service "{name}" not found'
    if _nobody_behind(space, name, store):
        return f'Post "{_address(hook)}": no endpoints available for service "{name}"'
    return ""


def _nobody_behind(space: str, name: str, store: Store) -> bool:
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
