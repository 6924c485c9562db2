"""The RBAC authorizer: roles and bindings in the cluster. Mirrors Kubernetes 1.36.

A request without a user comes from the cluster's administrator, who may do everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.request import RequestContext, UrlPath
from whysync.kubernetes.apiserver.status_errors import Refused, forbidden, not_found, qualified
from whysync.kubernetes.apiserver.storage import Store

_GROUP: Final = "rbac.authorization.k8s.io"
_VERBS: Final = {
    "create": "create", "update": "update", "get": "get", "list": "list", "delete": "delete",
    "deletecollection": "deletecollection", "merge-patch": "patch", "strategic-patch": "patch",
    "json-patch": "patch", "ssa": "patch", "watch": "watch",
}  # fmt: skip


ANONYMOUS: Final = "system:anonymous"


def known_user(request: Request) -> Request:
    """The request with its authenticated user; an unknown token is refused."""
    if request.user == "(bad token)":
        raise Refused(401, "Unauthorized", "Unauthorized")
    return replace(request, user=ANONYMOUS) if request.user == "(anonymous)" else request


class AuthorizationAttributes(NamedTuple):
    """User, verb and resource of a request. Mirrors `authorizer.Attributes`."""

    user: str
    groups: tuple[str, ...]
    verb: str
    group: str
    plural: str
    subresource: str
    namespace: str
    name: str


def check_access(call: RequestContext, store: Store) -> None:
    """Raises `Refused` if the user is not authorized."""
    if not call.request.user:
        return
    attributes = attributes_of(call, _VERBS.get(call.request.verb, call.request.verb))
    if not is_authorized(store, attributes):
        raise _denied(call, attributes.verb, _missing_roles_text(store, attributes))
    creates = call.request.verb == "ssa" and store.get(call.object_key) is None
    if creates and not is_authorized(store, attributes._replace(verb="create")):
        raise _denied(call, "create", _missing_roles_text(store, attributes))


def attributes_of(call: RequestContext, verb: str) -> AuthorizationAttributes:
    return AuthorizationAttributes(
        user=call.request.user,
        groups=call.request.groups,
        verb=verb,
        group=call.resource.group,
        plural=call.resource.plural,
        subresource=call.address.subresource,
        namespace=_namespace(call),
        name=call.address.name,
    )


def is_authorized(store: Store, attributes: AuthorizationAttributes) -> bool:
    """Is the request allowed? An empty user is the administrator, who may do everything."""
    return not attributes.user or any(_rule_allows(rule, attributes) for rule in rules_for(store, attributes))


def rules_for(store: Store, attributes: AuthorizationAttributes) -> Iterator[Object]:
    """The RBAC rules that apply to the user in the namespace of the request."""
    for binding, namespace in _bindings(store, attributes):
        yield from role_rules(store, binding, namespace) or ()


def _bindings(store: Store, attributes: AuthorizationAttributes) -> Iterator[tuple[Object, str]]:
    for _, binding in store.within((_GROUP, "clusterrolebindings")):
        if _applies_to(binding, attributes):
            yield binding, ""
    if attributes.namespace:
        for _, binding in store.within((_GROUP, "rolebindings"), attributes.namespace):
            if _applies_to(binding, attributes):
                yield binding, attributes.namespace


def groups_of(user: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """All groups of a user, including those of a ServiceAccount."""
    prefix, _, account = user.partition("system:serviceaccount:")
    if prefix or not account or "system:serviceaccounts" in groups:
        return (*groups, "system:authenticated")
    account_groups = ("system:serviceaccounts", f"system:serviceaccounts:{account.partition(':')[0]}")
    return (*groups, *account_groups, "system:authenticated")


def _missing_roles_text(store: Store, attributes: AuthorizationAttributes) -> str:
    """The part of the message that lists missing roles of bindings."""
    roles = [
        fields(binding.get("roleRef"))
        for binding, namespace in _bindings(store, attributes)
        if role_rules(store, binding, namespace) is None
    ]
    missing = [
        f'{text(role.get("kind")).lower()}.{_GROUP} "{text(role.get("name"))}" not found' for role in roles
    ]
    messages = list(dict.fromkeys(missing))
    if not messages:
        return ""
    return f": RBAC: {messages[0]}" if len(messages) == 1 else f": RBAC: [{', '.join(messages)}]"


def _namespace(call: RequestContext) -> str:
    """The namespace of a request; for a Namespace object, its own name."""
    if call.resource.kind == "Namespace" and not call.resource.group:
        return call.address.name
    return call.address.namespace


def _applies_to(binding: Object, attributes: AuthorizationAttributes) -> bool:
    groups = groups_of(attributes.user, attributes.groups)
    for raw in items(binding.get("subjects")):
        subject = fields(raw)
        name = text(subject.get("name"))
        account = f"system:serviceaccount:{text(subject.get('namespace'))}:{name}"
        match subject.get("kind"):
            case "User" if name == attributes.user:
                return True
            case "Group" if name in groups:
                return True
            case "ServiceAccount" if account == attributes.user:
                return True
            case _:
                continue
    return False


def role_rules(store: Store, binding: Object, namespace: str) -> list[Object] | None:
    """The rules of the role of a binding; `None` if the role does not exist."""
    name = text(dig(binding, "roleRef", "name"))
    if dig(binding, "roleRef", "kind") == "ClusterRole":
        role = store.get(((_GROUP, "clusterroles"), "", name))
        if role is None and name == "cluster-admin":  # exists in every cluster, even if the facts lack it
            return [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    else:
        role = store.get(((_GROUP, "roles"), namespace, name))
    return None if role is None else [fields(rule) for rule in items(role.get("rules"))]


def _rule_allows(rule: Object, attributes: AuthorizationAttributes) -> bool:
    subresource = attributes.subresource
    resource = f"{attributes.plural}/{subresource}" if subresource else attributes.plural
    names = items(rule.get("resourceNames"))
    return (
        _has(rule, "verbs", {"*", attributes.verb})
        and _has(rule, "apiGroups", {"*", attributes.group})
        and _has(rule, "resources", {"*", resource} | ({f"*/{subresource}"} if subresource else set[str]()))
        and (not names or attributes.name in names)
    )


def _has(rule: Object, key: str, accepted: set[str]) -> bool:
    return any(text(value) in accepted for value in items(rule.get(key)))


def _denied(call: RequestContext, verb: str, more: str) -> Refused:
    return _refusal(call.request.user, verb, call.resource.group, call.address, _namespace(call), more)


def forbidden_before_lookup(request: Request, address: UrlPath) -> Refused:
    """A user without permissions is refused before the kind is looked up."""
    verb = _VERBS.get(request.verb, request.verb)
    return _refusal(request.user, verb, group_of(address.api_version), address, address.namespace)


def _refusal(user: str, verb: str, group: str, address: UrlPath, namespace: str, more: str = "") -> Refused:
    resource = f"{address.plural}/{address.subresource}" if address.subresource else address.plural
    scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    why = f'User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {scope}{more}'
    kind = qualified(address.plural, group)
    target = f'{kind} "{address.name}"' if address.name else kind
    details: Object = {"name": address.name} if address.name else {}
    if group:
        details["group"] = group
    details["kind"] = address.plural
    return Refused(403, "Forbidden", f"{target} is forbidden: {why}", details)


def forbidden_path(user: str, path: str) -> Refused:
    """The error for paths that are no resources, which only administrators may read."""
    return Refused(403, "Forbidden", f'forbidden: User "{user}" cannot get path "{path}"', {})


# Prevention of privilege escalation: users cannot grant permissions that they do not have.
#
# Mirrors `ConfirmNoEscalation` of the RBAC registry, Kubernetes 1.36: writing a role requires all its
# permissions, writing a binding all permissions of its role, unless the user may `escalate` or `bind`.
# Rules for non-resource URLs are ignored.


class _Permission(NamedTuple):
    group: str
    resource: str
    name: str
    verb: str


def confirm_no_escalation(obj: Object, old: Object | None, call: RequestContext, store: Store) -> None:
    """Raises `Refused` if the user would grant permissions that they do not have."""
    if not call.request.user or call.resource.group != _GROUP or "system:masters" in call.request.groups:
        return
    if call.resource.kind in {"RoleBinding", "ClusterRoleBinding"}:
        if (
            old is not None
            and old.get("roleRef") == obj.get("roleRef")
            and old.get("subjects") == obj.get("subjects")
        ):
            return
        granted = _rules_of_binding(obj, call, store)
    else:
        if old is not None and old.get("rules") == obj.get("rules"):
            return
        if is_authorized(store, attributes_of(call, "escalate")):
            return
        granted = [fields(rule) for rule in items(obj.get("rules"))]
    missing = _uncovered(granted, list(rules_for(store, attributes_of(call, "get"))))
    if missing:
        user = call.request.user
        groups = " ".join(f'"{group}"' for group in groups_of(user, call.request.groups))
        heading = (
            f'user "{user}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:'
        )
        name = text(dig(obj, "metadata", "name"))
        raise forbidden(call.resource.plural, _GROUP, name, "\n".join([heading, *sorted(missing)]))


def _rules_of_binding(binding: Object, call: RequestContext, store: Store) -> list[Object]:
    role = fields(binding.get("roleRef"))
    kind, name = text(role.get("kind")), text(role.get("name"))
    plural = "clusterroles" if kind == "ClusterRole" else "roles"
    attributes = attributes_of(call, "bind")._replace(plural=plural, name=name, subresource="")
    if is_authorized(store, attributes):
        return []
    rules = role_rules(store, binding, call.address.namespace)
    if rules is None:
        raise not_found(kind.lower(), _GROUP, name)
    return rules


def _uncovered(granted: list[Object], user_rules: list[Object]) -> list[str]:
    """Granted permissions that the user lacks, one line per resource."""
    missing: dict[tuple[str, str, str], list[str]] = {}
    for rule in granted:
        for permission in _permissions(rule):
            if not any(_covers(user_rule, permission) for user_rule in user_rules):
                verbs = missing.setdefault((permission.group, permission.resource, permission.name), [])
                if permission.verb not in verbs:
                    verbs.append(permission.verb)
    return [_compact_rule(*target, verbs) for target, verbs in missing.items()]


def _permissions(rule: Object) -> Iterator[_Permission]:
    resource_names = _texts(rule.get("resourceNames")) or [""]
    for group in _texts(rule.get("apiGroups")):
        for resource in _texts(rule.get("resources")):
            for name in resource_names:
                for verb in _texts(rule.get("verbs")):
                    yield _Permission(group, resource, name, verb)


def _texts(value: Json) -> list[str]:
    return [text(item) for item in items(value)]


def _covers(rule: Object, permission: _Permission) -> bool:
    names = _texts(rule.get("resourceNames"))
    _, slash, sub = permission.resource.partition("/")
    resources = {"*", permission.resource} | ({f"*/{sub}"} if slash else set[str]())
    return (
        bool({"*", permission.verb} & {*_texts(rule.get("verbs"))})
        and bool({"*", permission.group} & {*_texts(rule.get("apiGroups"))})
        and bool(resources & {*_texts(rule.get("resources"))})
        and (not names or permission.name in names)
    )


def _compact_rule(group: str, resource: str, name: str, verbs: list[str]) -> str:
    names_text = f', ResourceNames:["{name}"]' if name else ""
    listed = " ".join(f'"{verb}"' for verb in verbs)
    return f'{{APIGroups:["{group}"], Resources:["{resource}"]{names_text}, Verbs:[{listed}]}}'
