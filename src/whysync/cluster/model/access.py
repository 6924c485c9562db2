"""Who may do what: roles and bindings in the cluster. Mirrors the RBAC authorizer of Kubernetes 1.36.

A request without a user comes from the cluster's administrator, who may do everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.cluster.model.failures import Refused, qualified
from whysync.cluster.model.paths import Address
from whysync.cluster.model.requests import Call
from whysync.cluster.model.store import Store
from whysync.cluster.protocol import Request
from whysync.contracts.ref import group_of
from whysync.contracts.tree import Object, dig, fields, items, text

_GROUP: Final = "rbac.authorization.k8s.io"
_VERBS: Final = {
    "create": "create", "update": "update", "get": "get", "list": "list", "delete": "delete",
    "deletecollection": "deletecollection", "merge-patch": "patch", "strategic-patch": "patch",
    "json-patch": "patch", "ssa": "patch",
}  # fmt: skip


def check_access(call: Call, store: Store) -> None:
    """Raises `Refused` when the user of the request may not do this."""
    user = call.request.user
    if not user:
        return
    verb = _VERBS.get(call.request.verb, call.request.verb)
    if not may(store, call, verb):
        raise _denied(call, verb)
    if call.request.verb == "ssa" and store.get(call.place) is None and not may(store, call, "create"):
        raise _denied(call, "create")


def may(store: Store, call: Call, verb: str) -> bool:
    return any(_grants(rule, call, verb) for rule in _rules(store, call))


def _rules(store: Store, call: Call) -> Iterator[Object]:
    """The rules that hold for the user where the request goes."""
    for _, binding in store.within((_GROUP, "clusterrolebindings")):
        if _names(binding, call):
            yield from _role_rules(store, binding, "")
    namespace = _namespace(call)
    if namespace:
        for _, binding in store.within((_GROUP, "rolebindings"), namespace):
            if _names(binding, call):
                yield from _role_rules(store, binding, namespace)


def _namespace(call: Call) -> str:
    """A namespace counts as being in itself."""
    if call.resource.kind == "Namespace" and not call.resource.group:
        return call.address.name
    return call.address.namespace


def _names(binding: Object, call: Call) -> bool:
    user, groups = call.request.user, (*call.request.groups, "system:authenticated")
    for raw in items(binding.get("subjects")):
        subject = fields(raw)
        name = text(subject.get("name"))
        match subject.get("kind"):
            case "User" if name == user:
                return True
            case "Group" if name in groups:
                return True
            case "ServiceAccount" if user == f"system:serviceaccount:{text(subject.get('namespace'))}:{name}":
                return True
            case _:
                continue
    return False


def _role_rules(store: Store, binding: Object, namespace: str) -> Iterator[Object]:
    name = text(dig(binding, "roleRef", "name"))
    if dig(binding, "roleRef", "kind") == "ClusterRole":
        role = store.get(((_GROUP, "clusterroles"), "", name))
    else:
        role = store.get(((_GROUP, "roles"), namespace, name))
    for rule in items((role or {}).get("rules")):
        yield fields(rule)


def _grants(rule: Object, call: Call, verb: str) -> bool:
    resource, sub = call.resource, call.address.subresource
    wanted = f"{resource.plural}/{sub}" if sub else resource.plural
    names = items(rule.get("resourceNames"))
    return (
        _has(rule, "verbs", {"*", verb})
        and _has(rule, "apiGroups", {"*", resource.group})
        and _has(rule, "resources", {"*", wanted} | ({f"*/{sub}"} if sub else set[str]()))
        and (not names or call.address.name in names)
    )


def _has(rule: Object, key: str, wanted: set[str]) -> bool:
    return any(text(value) in wanted for value in items(rule.get(key)))


def _denied(call: Call, verb: str) -> Refused:
    return _refusal(call.request.user, verb, call.resource.group, call.address, _namespace(call))


def unknown_to(request: Request, address: Address) -> Refused:
    """A user without rights is turned away before anybody looks whether the kind exists."""
    verb = _VERBS.get(request.verb, request.verb)
    return _refusal(request.user, verb, group_of(address.api_version), address, address.namespace)


def _refusal(user: str, verb: str, group: str, address: Address, namespace: str) -> Refused:
    what = f"{address.plural}/{address.subresource}" if address.subresource else address.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    why = f'User "{user}" cannot {verb} resource "{what}" in API group "{group}" {where}'
    kind = qualified(address.plural, group)
    named = f'{kind} "{address.name}"' if address.name else kind
    details: Object = {"name": address.name} if address.name else {}
    if group:
        details["group"] = group
    details["kind"] = address.plural
    return Refused(403, "Forbidden", f"{named} is forbidden: {why}", details)


def no_such_path_for(user: str, path: str) -> Refused:
    """Paths that are no resources are open to administrators only."""
    return Refused(403, "Forbidden", f'forbidden: User "{user}" cannot get path "{path}"', {})
