"""`kubectl auth reconcile`, which Argo CD runs before it applies RBAC objects on the client's side.

It can change the role that a binding refers to, which apply cannot: the binding is deleted and created anew.
What it creates has no last-applied annotation, so the apply that follows finds an object and warns. Mirrors
gitops-engine `rbacReconcile`, Argo CD 3.6, and component-helpers `reconciliation`, Kubernetes 1.36. What
surprises: nothing is defaulted before the comparison, so a `roleRef` without its group is another one, and
such a binding is created anew with every sync.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from whysync.argocd.sync.cluster_ops import Refused
from whysync.argocd.sync.kubectl.client import Client, delete_options, reason_of, refused
from whysync.argocd.sync.kubectl.output import cleaned, joined_output
from whysync.argocd.sync.kubectl.rbac_covers import Rule, missing_rules
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    operation: str
    """`create`, `update`, `recreate`, or `none`."""
    obj: Object
    missing: tuple[str, ...] = ()
    protected: bool = False


def reconcile(client: Client, obj: Object, *, dry_run: bool) -> str:
    """What it prints; raises `Refused`."""
    try:
        return _reconcile(client, obj, dry_run=dry_run)
    except Refused as problem:
        raise Refused(f"{_FAILED}: {cleaned(problem.message)}", reason=problem.reason) from problem


def _reconcile(client: Client, obj: Object, *, dry_run: bool) -> str:
    kind, namespace = text(obj.get("kind")), text(dig(obj, "metadata", "namespace"))
    if not dry_run and namespace and kind not in _CLUSTER_WIDE:
        answer = client.send("get", f"/api/v1/namespaces/{namespace}")
        if not answer.ok:
            raise refused(answer).within(f"error getting namespace {namespace}")
    target = target_of(client, obj)
    if kind not in (*_BINDINGS, "Role", "ClusterRole"):
        return ""
    if target.nowhere:
        raise Refused(target.nowhere)
    try:
        plan = _carried_out(client, target, dry_run=dry_run)
    except Refused as problem:
        if kind in _BINDINGS:  # kubectl goes on with the result that it has not got
            raise Refused(_PANIC) from problem
        raise
    return joined_output(target.printed("reconciled", dry_run=dry_run), _details(plan, kind))


def _details(plan: _Plan, kind: str) -> str:
    if plan.operation == "none":
        return ""
    details = f"\treconciliation required {plan.operation}{_PROTECTED if plan.protected else ''}\n"
    if plan.missing:
        details += f"\tmissing {'subjects' if kind in _BINDINGS else 'rules'} added:\n"
        details += "".join(f"\t\t{missing}\n" for missing in plan.missing)
    return details


def _carried_out(client: Client, target: Target, *, dry_run: bool) -> _Plan:
    """Whoever else writes at the same time, a few tries settle it."""
    for attempt in range(_ATTEMPTS):
        current = client.send("get", target.path)
        if not current.ok and reason_of(current) != "NotFound":
            raise refused(current)
        plan = _planned(target.obj, current.body if current.ok else None)
        if dry_run or plan.protected or plan.operation == "none":
            return plan
        answer = _send(client, target, plan, current)
        if answer.ok:
            return plan
        again = {"create": "AlreadyExists", "recreate": "AlreadyExists", "update": "NotFound"}
        is_raced = reason_of(answer) in ("Conflict", again[plan.operation])
        if not is_raced or attempt == _ATTEMPTS - 1:
            raise refused(answer)
    raise Refused("exceeded maximum attempts")


def _send(client: Client, target: Target, plan: _Plan, current: Answer) -> Answer:
    if plan.operation == "update":
        return client.send("update", target.path, plan.obj)
    if plan.operation == "recreate":
        uid = text(dig(current.body or {}, "metadata", "uid"))
        gone = client.send("delete", target.path, delete_options("", uid=uid))
        if not gone.ok and reason_of(gone) != "NotFound":
            return gone
    return client.send("create", target.collection, plan.obj)


def _planned(wanted: Object, live: Object | None) -> _Plan:
    if text(wanted.get("kind")) in _BINDINGS:
        return _planned_binding(wanted, live)
    return _planned_role(wanted, live)


def _planned_role(wanted: Object, live: Object | None) -> _Plan:
    rules = [Rule.of(rule) for rule in items(wanted.get("rules"))]
    if live is None:
        return _Plan(operation="create", obj=wanted, missing=tuple(map(str, rules)))
    obj = _with_marks(live, wanted)
    missing = missing_rules([Rule.of(rule) for rule in items(live.get("rules"))], rules)
    if missing:
        obj = _with(obj, "rules", [*items(obj.get("rules")), *(rule.body for rule in missing)])
    obj = _aggregated(obj, wanted)
    return _plan(obj, live, tuple(map(str, missing)))


def _aggregated(obj: Object, wanted: Object) -> Object:
    """Selectors that are wanted are added; a role that shall not aggregate stops doing so."""
    asked, there = wanted.get("aggregationRule"), obj.get("aggregationRule")
    if not isinstance(asked, dict):
        return {key: value for key, value in obj.items() if key != "aggregationRule"}
    selectors = items(fields(there).get("clusterRoleSelectors"))
    missing = [
        cluster_role_selector
        for cluster_role_selector in items(asked.get("clusterRoleSelectors"))
        if not any(same(cluster_role_selector, other) for other in selectors)
    ]
    if not missing:
        return obj
    return {**obj, "aggregationRule": {**fields(there), "clusterRoleSelectors": [*selectors, *missing]}}


def _planned_binding(wanted: Object, live: Object | None) -> _Plan:
    subjects = [_subject(subject) for subject in items(wanted.get("subjects"))]
    if live is None:
        return _Plan(operation="create", obj=wanted, missing=tuple(map(_go_subject, subjects)))
    if _role(wanted) != _role(live):
        return _Plan(operation="recreate", obj=wanted, protected=_is_protected(live))
    there = [_subject(subject) for subject in items(live.get("subjects"))]
    missing = [fromkey for fromkey in dict.fromkeys(subjects) if fromkey not in there]
    obj = _with_marks(live, wanted)
    if missing:
        obj = _with(obj, "subjects", [*items(obj.get("subjects")), *map(_subject_body, missing)])
    return _plan(obj, live, tuple(map(_go_subject, missing)))


def _plan(obj: Object, live: Object, missing: tuple[str, ...]) -> _Plan:
    operation = "none" if same(obj, live) else "update"
    return _Plan(operation=operation, obj=obj, missing=missing, protected=_is_protected(live))


def _with_marks(live: Object, wanted: Object) -> Object:
    """With the labels and annotations that are wanted, unless it has others of that name already."""
    meta = {**fields(live.get("metadata"))}
    for key in ("annotations", "labels"):
        asked = dig(wanted, "metadata", key)
        if isinstance(asked, dict) and asked:
            meta[key] = {**asked, **fields(meta.get(key))}
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
    named = zip(("kind", "apiGroup", "name", "namespace"), subject, strict=True)
    return {key: value for key, value in named if value}


def _go_subject(subject: tuple[str, ...]) -> str:
    kind, group, name, namespace = subject
    return f"{{Kind:{kind} APIGroup:{group} Name:{name} Namespace:{namespace}}}"
