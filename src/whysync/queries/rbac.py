"""A Role and binding that permit what Kubernetes RBAC refused."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.group_failures import FailureGroup

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_READING = ("get", "list", "watch")
_MANAGING = ("get", "list", "watch", "create", "update", "patch", "delete")
_MAX_NAME = 120
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9.-]+")
_GROUP = "rbac.authorization.k8s.io"
# What objects of the app report themselves; all other texts are about requests of Argo CD.
_REPORTED_BY_OBJECTS = frozenset(
    {SymptomKind.LOG, SymptomKind.EVENT, SymptomKind.STATE, SymptomKind.UNHEALTHY}
)
_OF_SYNC = frozenset({SymptomKind.RESULT, SymptomKind.OPERATION})


def service_account(user: str) -> tuple[str, str] | None:
    parts = user.split(":")
    return (parts[2], parts[3]) if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4 else None


def is_account_of_app(group: FailureGroup[Forbidden]) -> bool:
    """Does a Pod or controller of the app itself report the refusal, for an account of its namespace?"""
    account = service_account(group.failure.user)
    return account is not None and all(
        report.ref is not None
        and report.ref.namespace == account[0]
        and all(id.kind in _REPORTED_BY_OBJECTS for id in report.symptoms)
        for report in group.reports
    )


def is_cluster_wide(failure: Forbidden) -> bool:
    return failure.cluster_scope or not failure.namespace


def _kinds(failure: Forbidden) -> tuple[str, str]:
    wide = is_cluster_wide(failure)
    return ("ClusterRole", "ClusterRoleBinding") if wide else ("Role", "RoleBinding")


def _name(case: Case, group: FailureGroup[Forbidden]) -> str:
    """The name of the Role and of its binding: that of the app's own account, if no other object has it."""
    account = service_account(group.failure.user)
    if account is None or not is_account_of_app(group):
        return role_name(group.failure.user, *map(_granted, map(fields, rules_for(group))))
    wide = is_cluster_wide(group.failure)
    name = f"{account[0]}-{account[1]}" if wide else account[1]
    namespace = "" if wide else group.failure.namespace
    declared = {(manifest.ref.kind, manifest.ref.name) for manifest in case.desired}
    is_taken = any(
        (kind, name) in declared or case.live_named(kind, namespace, name) is not None
        for kind in _kinds(group.failure)
    )
    return f"{name}-{group.failure.resource}" if is_taken else name


def role_name(user: str, *granted: str) -> str:
    """A name that contains the account and what it is granted.

    Rules and subjects are replaced as a whole: a second Role of the same name would revoke what the first
    one grants.
    """
    account = service_account(user)
    words = (*(account or (user or "argocd",)), *granted)
    full = _NOT_IN_A_NAME.sub("-", "-".join(words).lower()).strip("-.")
    if len(full) <= _MAX_NAME:
        return full
    from hashlib import sha256

    return f"{full[:_MAX_NAME].rstrip('-.')}-{sha256(full.encode()).hexdigest()[:8]}"


def _granted(rule: Object) -> str:
    """`manage-deployments.apps`, `read-secrets` or `get-secrets`."""
    verbs = [text(verb) for verb in items(rule.get("verbs"))]
    named: dict[frozenset[str], str] = {frozenset(_MANAGING): "manage", frozenset(_READING): "read"}
    access = named.get(frozenset(verbs))
    return f"{access or '-'.join(sorted(verbs))}-{resource_of(rule)}"


def resource_of(rule: Object) -> str:
    """`deployments.apps`: resource and API group of a rule with one of each."""
    parts = (*items(rule.get("resources")), *items(rule.get("apiGroups")))
    return ".".join(text(part) for part in parts if part)


def bound_role(case: Case, group: FailureGroup[Forbidden]) -> Manifest | None:
    """A Role in the app's manifests that the app's manifests bind to the account, with the right scope."""
    account = service_account(group.failure.user)
    wide = is_cluster_wide(group.failure)
    role_kind, binding_kind = _kinds(group.failure)
    roles = {manifest.ref.name: manifest for manifest in case.desired if manifest.ref.kind == role_kind}
    for binding in case.desired:
        if binding.ref.kind != binding_kind or account is None:
            continue
        namespace = binding.ref.namespace or case.destination_namespace
        subjects = map(fields, items(binding.body.get("subjects")))
        bound = any(
            subject.get("kind") == "ServiceAccount"
            and (text(subject.get("namespace")) or namespace, subject.get("name")) == account
            for subject in subjects
        )
        reference = fields(binding.body.get("roleRef"))
        role = roles.get(text(reference.get("name"))) if reference.get("kind") == role_kind else None
        if bound and role is not None and (wide or namespace == group.failure.namespace):
            return role
    return None


def rules_for(group: FailureGroup[Forbidden]) -> list[Json]:
    """One rule per resource.

    Argo CD's cache and the informers of controllers need get, list and watch together. A sync that cannot
    write an object needs all verbs of a managed one: the next change needs patch, a replacement update, a
    prune delete.
    """
    verbs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for report in group.reports:
        failure = report.failure
        applied = failure.verb in _MANAGING and any(id.kind in _OF_SYNC for id in report.symptoms)
        wanted = _MANAGING if applied else _READING if failure.verb in ("list", "watch") else (failure.verb,)
        verbs[failure.group, failure.resource] += [verb for verb in (failure.verb, *wanted) if verb]
    return [
        {"apiGroups": [api_group], "resources": [resource], "verbs": list(dict.fromkeys(wanted))}
        for (api_group, resource), wanted in verbs.items()
        if resource
    ]


def missing_rules(role: Manifest, group: FailureGroup[Forbidden]) -> list[Json]:
    """The rules that the Role needs and does not have. Mirrors `RuleAllows`, Kubernetes 1.36."""
    granted = [fields(rule) for rule in items(role.body.get("rules"))]
    return [
        wanted
        for wanted in rules_for(group)
        if not any(_includes(rule, fields(wanted)) and not rule.get("resourceNames") for rule in granted)
    ]


def _includes(rule: Object, wanted: Object) -> bool:
    return all(
        "*" in items(rule.get(name)) or all(value in items(rule.get(name)) for value in items(wanted[name]))
        for name in ("apiGroups", "resources", "verbs")
    )


def role_and_binding(case: Case, group: FailureGroup[Forbidden]) -> Object:
    """A List of a Role that permits what was refused, and its binding."""
    failure = group.failure
    role_kind, binding_kind = _kinds(failure)
    name = _name(case, group)
    meta: Object = {"name": name}
    if not is_cluster_wide(failure):
        meta["namespace"] = failure.namespace
    role: Object = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": role_kind,
        "metadata": meta,
        "rules": rules_for(group),
    }
    binding: Object = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": binding_kind,
        "metadata": meta,
        "roleRef": {"apiGroup": _GROUP, "kind": role_kind, "name": name},
        "subjects": [_subject(failure)],
    }
    return {"apiVersion": "v1", "kind": "List", "items": [role, binding]}


def _subject(failure: Forbidden) -> Object:
    account = service_account(failure.user)
    if account is None:
        return {"kind": "User", "apiGroup": _GROUP, "name": failure.user or "USER"}
    return {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
