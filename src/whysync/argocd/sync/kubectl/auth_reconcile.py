"""`kubectl auth reconcile`, which Argo CD runs before it applies RBAC objects with client-side apply.

Unlike apply, it can change the `roleRef` of a binding, by deleting and recreating the binding. Objects that
it creates have no last-applied annotation, so the following apply prints a warning. Mirrors gitops-engine
`rbacReconcile`, Argo CD 3.6, and component-helpers `reconciliation`, Kubernetes 1.36. Nothing is defaulted
before the comparison: a `roleRef` without its group differs from the live one, and such a binding is
recreated with every sync.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from whysync.argocd.sync.cluster_ops import Refused
from whysync.argocd.sync.kubectl.client import Client, delete_options, reason_of, refused
from whysync.argocd.sync.kubectl.output import clean_kubectl_output, join_kubectl_output
from whysync.argocd.sync.kubectl.target import Target, target_of
from whysync.json_tree import Json, Object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.protocol import Answer

RBAC: Final = "rbac.authorization.k8s.io/v1"
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_CLUSTER_WIDE: Final = ("ClusterRole", "ClusterRoleBinding")
_FAILED: Final = "error running kubectl auth reconcile"
_PANIC: Final = f"{_FAILED}: runtime error: invalid memory address or nil pointer dereference"
_PROTECTED: Final = ", but object opted out (rbac.authorization.kubernetes.io/autoupdate: false)"
_AUTO_UPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
_ATTEMPTS: Final = 3


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    operation: str
    """`create`, `update`, `recreate`, or `none`."""
    obj: Object
    missing: tuple[str, ...] = ()
    protected: bool = False


def reconcile(client: Client, obj: Object, *, dry_run: bool) -> str:
    """The output of kubectl; raises `Refused`."""
    try:
        return _reconcile(client, obj, dry_run=dry_run)
    except Refused as problem:
        raise Refused(
            f"{_FAILED}: {clean_kubectl_output(problem.message)}", reason=problem.reason
        ) from problem


def _reconcile(client: Client, obj: Object, *, dry_run: bool) -> str:
    kind, namespace = text(obj.get("kind")), text(dig(obj, "metadata", "namespace"))
    if not dry_run and namespace and kind not in _CLUSTER_WIDE:
        response = client.send("get", f"/api/v1/namespaces/{namespace}")
        if not response.ok:
            raise refused(response).within(f"error getting namespace {namespace}")
    target = target_of(client, obj)
    if kind not in (*_BINDINGS, "Role", "ClusterRole"):
        return ""
    if target.path_problem:
        raise Refused(target.path_problem)
    try:
        plan = _apply_plan(client, target, dry_run=dry_run)
    except Refused as problem:
        if kind in _BINDINGS:  # kubectl dereferences the missing result
            raise Refused(_PANIC) from problem
        raise
    return join_kubectl_output(target.printed("reconciled", dry_run=dry_run), _details(plan, kind))


def _details(plan: _Plan, kind: str) -> str:
    if plan.operation == "none":
        return ""
    details = f"\treconciliation required {plan.operation}{_PROTECTED if plan.protected else ''}\n"
    if plan.missing:
        details += f"\tmissing {'subjects' if kind in _BINDINGS else 'rules'} added:\n"
        details += "".join(f"\t\t{missing}\n" for missing in plan.missing)
    return details


def _apply_plan(client: Client, target: Target, *, dry_run: bool) -> _Plan:
    """Applies the plan; conflicts with other writers are retried."""
    for attempt in range(_ATTEMPTS):
        current = client.send("get", target.path)
        if not current.ok and reason_of(current) != "NotFound":
            raise refused(current)
        plan = _planned(target.obj, current.body if current.ok else None)
        if dry_run or plan.protected or plan.operation == "none":
            return plan
        response = _send(client, target, plan, current)
        if response.ok:
            return plan
        retried_reasons = {"create": "AlreadyExists", "recreate": "AlreadyExists", "update": "NotFound"}
        is_raced = reason_of(response) in ("Conflict", retried_reasons[plan.operation])
        if not is_raced or attempt == _ATTEMPTS - 1:
            raise refused(response)
    raise Refused("exceeded maximum attempts")


def _send(client: Client, target: Target, plan: _Plan, current: Answer) -> Answer:
    if plan.operation == "update":
        return client.send("update", target.path, plan.obj)
    if plan.operation == "recreate":
        uid = text(dig(current.body or {}, "metadata", "uid"))
        deleted = client.send("delete", target.path, delete_options("", uid=uid))
        if not deleted.ok and reason_of(deleted) != "NotFound":
            return deleted
    return client.send("create", target.collection, plan.obj)


def _planned(desired: Object, live: Object | None) -> _Plan:
    if text(desired.get("kind")) in _BINDINGS:
        return _planned_binding(desired, live)
    return _planned_role(desired, live)


def _planned_role(desired: Object, live: Object | None) -> _Plan:
    rules = [Rule.of(rule) for rule in items(desired.get("rules"))]
    if live is None:
        return _Plan(operation="create", obj=desired, missing=tuple(map(str, rules)))
    obj = _with_metadata(live, desired)
    missing = missing_rules([Rule.of(rule) for rule in items(live.get("rules"))], rules)
    if missing:
        obj = _with(obj, "rules", [*items(obj.get("rules")), *(rule.body for rule in missing)])
    obj = _aggregated(obj, desired)
    return _plan(obj, live, tuple(map(str, missing)))


def _aggregated(obj: Object, desired: Object) -> Object:
    """With the desired aggregation selectors added; without `aggregationRule` if the manifest has none."""
    desired_rule, live_rule = desired.get("aggregationRule"), obj.get("aggregationRule")
    if not isinstance(desired_rule, dict):
        return {key: value for key, value in obj.items() if key != "aggregationRule"}
    selectors = items(fields(live_rule).get("clusterRoleSelectors"))
    missing = [
        cluster_role_selector
        for cluster_role_selector in items(desired_rule.get("clusterRoleSelectors"))
        if not any(same(cluster_role_selector, existing) for existing in selectors)
    ]
    if not missing:
        return obj
    return {**obj, "aggregationRule": {**fields(live_rule), "clusterRoleSelectors": [*selectors, *missing]}}


def _planned_binding(desired: Object, live: Object | None) -> _Plan:
    subjects = [_subject(subject) for subject in items(desired.get("subjects"))]
    if live is None:
        return _Plan(operation="create", obj=desired, missing=tuple(map(_go_subject, subjects)))
    if _role(desired) != _role(live):
        return _Plan(operation="recreate", obj=desired, protected=_is_protected(live))
    live_subjects = [_subject(subject) for subject in items(live.get("subjects"))]
    missing = [subject_key for subject_key in dict.fromkeys(subjects) if subject_key not in live_subjects]
    obj = _with_metadata(live, desired)
    if missing:
        obj = _with(obj, "subjects", [*items(obj.get("subjects")), *map(_subject_body, missing)])
    return _plan(obj, live, tuple(map(_go_subject, missing)))


def _plan(obj: Object, live: Object, missing: tuple[str, ...]) -> _Plan:
    operation = "none" if same(obj, live) else "update"
    return _Plan(operation=operation, obj=obj, missing=missing, protected=_is_protected(live))


def _with_metadata(live: Object, desired: Object) -> Object:
    """With the labels and annotations of the manifest that the live object lacks."""
    meta = {**fields(live.get("metadata"))}
    for key in ("annotations", "labels"):
        desired_values = dig(desired, "metadata", key)
        if isinstance(desired_values, dict) and desired_values:
            meta[key] = {**desired_values, **fields(meta.get(key))}
    return {**live, "metadata": meta}


def _with(obj: Object, key: str, value: Json) -> Object:
    return {**obj, key: value}


def _is_protected(live: Object) -> bool:
    return dig(live, "metadata", "annotations", _AUTO_UPDATE) == "false"


def _role(binding: Object) -> tuple[str, ...]:
    role = fields(binding.get("roleRef"))
    return tuple(text(role.get(key)) for key in ("apiGroup", "kind", "name"))


def _subject(raw: Json) -> tuple[str, ...]:
    return tuple(text(fields(raw).get(key)) for key in ("kind", "apiGroup", "name", "namespace"))


def _subject_body(subject: tuple[str, ...]) -> Object:
    pairs = zip(("kind", "apiGroup", "name", "namespace"), subject, strict=True)
    return {key: value for key, value in pairs if value}


def _go_subject(subject: tuple[str, ...]) -> str:
    kind, group, name, namespace = subject
    return f"{{Kind:{kind} APIGroup:{group} Name:{name} Namespace:{namespace}}}"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @staticmethod
    def of(raw: Json) -> Rule:
        rule = fields(raw)
        return Rule(
            verbs=_texts(rule.get("verbs")),
            groups=_texts(rule.get("apiGroups")),
            resources=_texts(rule.get("resources")),
            names=_texts(rule.get("resourceNames")),
            urls=_texts(rule.get("nonResourceURLs")),
        )

    @property
    def body(self) -> Object:
        rule_fields: dict[str, tuple[str, ...]] = {
            "apiGroups": self.groups,
            "resources": self.resources,
            "verbs": self.verbs,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {key: list(values) for key, values in rule_fields.items() if values}

    def __str__(self) -> str:
        """As Go prints the struct."""
        return (
            f"{{Verbs:{_go(self.verbs)} APIGroups:{_go(self.groups)} Resources:{_go(self.resources)} "
            f"ResourceNames:{_go(self.names)} NonResourceURLs:{_go(self.urls)}}}"
        )


def missing_rules(existing: Sequence[Rule], desired: Sequence[Rule]) -> list[Rule]:
    """The single permissions of `desired` that `existing` does not cover."""
    permissions = (permission for rule in desired for permission in _breakdown_rule(rule))
    return [
        permission for permission in permissions if not any(_covers(rule, permission) for rule in existing)
    ]


def _breakdown_rule(rule: Rule) -> Iterator[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not rule.names:
                    yield Rule(verbs=(verb,), groups=(group,), resources=(resource,))
                for name in rule.names:
                    yield Rule(verbs=(verb,), groups=(group,), resources=(resource,), names=(name,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule(verbs=(verb,), urls=(url,))


def _covers(owner: Rule, permission: Rule) -> bool:
    return (
        ("*" in owner.verbs or set(permission.verbs) <= set(owner.verbs))
        and ("*" in owner.groups or set(permission.groups) <= set(owner.groups))
        and (
            "*" in owner.resources or all(_has_resource(owner, resource) for resource in permission.resources)
        )
        and (not owner.names or (bool(permission.names) and set(permission.names) <= set(owner.names)))
        and all(any(_covers_url(own, url) for own in owner.urls) for url in permission.urls)
    )


def _has_resource(owner: Rule, resource: str) -> bool:
    """Does the rule cover the resource? `*/scale` matches that subresource of all resources."""
    if resource in owner.resources:
        return True
    _, slash, sub = resource.partition("/")
    return bool(slash) and f"*/{sub}" in owner.resources


def _covers_url(owner: str, url: str) -> bool:
    return owner == url or (owner.endswith("*") and url.startswith(owner.rstrip("*")))


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(item for item in items(value) if isinstance(item, str))


def _go(values: tuple[str, ...]) -> str:
    return f"[{' '.join(values)}]"
