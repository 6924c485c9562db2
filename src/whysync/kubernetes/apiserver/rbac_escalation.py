"""Nobody gives away rights that they do not have themselves.

Mirrors `ConfirmNoEscalation` of the RBAC registry, Kubernetes 1.36: who writes a role needs all that it
grants, who writes a binding all that its role grants, unless they may `escalate` or `bind`. Rules about paths
that are no resources are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.rbac_authorizer import groups_of, may, question_of, role_rules, rules_for
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden, not_found
from whysync.kubernetes.apiserver.storage import Store

_GROUP = "rbac.authorization.k8s.io"


class _Right(NamedTuple):
    group: str
    resource: str
    name: str
    verb: str


def check_escalation(obj: Object, old: Object | None, call: RequestContext, store: Store) -> None:
    """Raises `Refused` when the user of the request would grant more than they have."""
    if not call.request.user or call.resource.group != _GROUP or "system:masters" in call.request.groups:
        return
    if call.resource.kind in {"RoleBinding", "ClusterRoleBinding"}:
        if (
            old is not None
            and old.get("roleRef") == obj.get("roleRef")
            and old.get("subjects") == obj.get("subjects")
        ):
            return
        granted = _of_binding(obj, call, store)
    else:
        if old is not None and old.get("rules") == obj.get("rules"):
            return
        if may(store, question_of(call, "escalate")):
            return
        granted = [fields(rule) for rule in items(obj.get("rules"))]
    missing = _missing(granted, list(rules_for(store, question_of(call, "get"))))
    if missing:
        user = call.request.user
        groups = " ".join(f'"{group}"' for group in groups_of(user, call.request.groups))
        heading = (
            f'user "{user}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:'
        )
        name = text(dig(obj, "metadata", "name"))
        raise forbidden(call.resource.plural, _GROUP, name, "\n".join([heading, *sorted(missing)]))


def _of_binding(binding: Object, call: RequestContext, store: Store) -> list[Object]:
    role = fields(binding.get("roleRef"))
    kind, name = text(role.get("kind")), text(role.get("name"))
    plural = "clusterroles" if kind == "ClusterRole" else "roles"
    asked = question_of(call, "bind")._replace(plural=plural, name=name, subresource="")
    if may(store, asked):
        return []
    rules = role_rules(store, binding, call.address.namespace)
    if rules is None:
        raise not_found(kind.lower(), _GROUP, name)
    return rules


def _missing(granted: list[Object], held: list[Object]) -> list[str]:
    """What is granted and not held, the verbs of one thing together."""
    missing: dict[tuple[str, str, str], list[str]] = {}
    for rule in granted:
        for right in _rights(rule):
            if not any(_covers(own, right) for own in held):
                verbs = missing.setdefault((right.group, right.resource, right.name), [])
                if right.verb not in verbs:
                    verbs.append(right.verb)
    return [_written(*thing, verbs) for thing, verbs in missing.items()]


def _rights(rule: Object) -> Iterator[_Right]:
    names = _texts(rule.get("resourceNames")) or [""]
    for group in _texts(rule.get("apiGroups")):
        for resource in _texts(rule.get("resources")):
            for name in names:
                for verb in _texts(rule.get("verbs")):
                    yield _Right(group, resource, name, verb)


def _texts(value: Json) -> list[str]:
    return [text(item) for item in items(value)]


def _covers(rule: Object, right: _Right) -> bool:
    names = _texts(rule.get("resourceNames"))
    _, slash, sub = right.resource.partition("/")
    resources = {"*", right.resource} | ({f"*/{sub}"} if slash else set[str]())
    return (
        bool({"*", right.verb} & {*_texts(rule.get("verbs"))})
        and bool({"*", right.group} & {*_texts(rule.get("apiGroups"))})
        and bool(resources & {*_texts(rule.get("resources"))})
        and (not names or right.name in names)
    )


def _written(group: str, resource: str, name: str, verbs: list[str]) -> str:
    named = f', ResourceNames:["{name}"]' if name else ""
    listed = " ".join(f'"{verb}"' for verb in verbs)
    return f'{{APIGroups:["{group}"], Resources:["{resource}"]{named}, Verbs:[{listed}]}}'
