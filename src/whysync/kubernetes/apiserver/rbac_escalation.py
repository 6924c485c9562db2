"""Prevention of privilege escalation: users cannot grant permissions that they do not have.

Mirrors `ConfirmNoEscalation` of the RBAC registry, Kubernetes 1.36: writing a role
requires all its permissions, writing a binding all permissions of its role, unless the user may `escalate` or
`bind`. Rules for non-resource URLs are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.rbac_authorizer import (
    attributes_of,
    groups_of,
    is_authorized,
    role_rules,
    rules_for,
)
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden, not_found
from whysync.kubernetes.apiserver.storage import Store

_GROUP = "rbac.authorization.k8s.io"


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
