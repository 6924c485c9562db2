"""Roles and their bindings. Mirrors `rbac/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import Problems, each, invalid, required, unsupported
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.scalars import validate_required
from whysync.kubernetes.validation.selectors import validate_label_selector

_GROUP = "rbac.authorization.k8s.io"
_REFERENCE = ("apiGroup", "kind", "name")


def validate_role(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.path_segment)
    for index, rule in enumerate(items(obj.get("rules"))):
        yield from _validate_policy_rule(fields(rule), f"rules[{index}]", namespaced=True)


def validate_cluster_role(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.path_segment)
    for index, rule in enumerate(items(obj.get("rules"))):
        yield from _validate_policy_rule(fields(rule), f"rules[{index}]", namespaced=False)
    if isinstance(obj.get("aggregationRule"), dict):
        path = "aggregationRule.clusterRoleSelectors"
        selectors = items(fields(obj.get("aggregationRule")).get("clusterRoleSelectors"))
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            yield required(path, detail)
        for index, selector in enumerate(selectors):
            yield from validate_label_selector(selector, f"{path}[{index}]")


def validate_role_update(old: Object, new: Object) -> Problems:
    yield from validate_role(new)
    yield from metadata.validate_object_meta_update(old, new)


def validate_cluster_role_update(old: Object, new: Object) -> Problems:
    yield from validate_cluster_role(new)
    yield from metadata.validate_object_meta_update(old, new)


def validate_role_binding(obj: Object) -> Problems:
    yield from _validate_binding(obj, ("Role", "ClusterRole"), namespaced=True)


def validate_cluster_role_binding(obj: Object) -> Problems:
    yield from _validate_binding(obj, ("ClusterRole",), namespaced=False)


def validate_role_binding_update(old: Object, new: Object) -> Problems:
    yield from validate_role_binding(new)
    yield from _validate_role_ref_unchanged(old, new)


def validate_cluster_role_binding_update(old: Object, new: Object) -> Problems:
    yield from validate_cluster_role_binding(new)
    yield from _validate_role_ref_unchanged(old, new)


def _validate_role_ref_unchanged(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    old_role_ref, new_role_ref = fields(old.get("roleRef")), fields(new.get("roleRef"))
    if any(text(old_role_ref.get(field)) != text(new_role_ref.get(field)) for field in _REFERENCE):
        yield invalid("roleRef", internal(new_role_ref, "rbac/v1.RoleRef"), "cannot change roleRef")


def _validate_policy_rule(rule: Object, path: str, *, namespaced: bool) -> Problems:
    if not items(rule.get("verbs")):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = items(rule.get("nonResourceURLs"))
    if urls:
        path = f"{path}.nonResourceURLs"
        if namespaced:
            yield invalid(path, urls, "namespaced rules cannot apply to non-resource URLs")
        if any(items(rule.get(field)) for field in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(path, urls, detail)
        return
    if not items(rule.get("apiGroups")):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not items(rule.get("resources")):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _validate_binding(obj: Object, kinds: tuple[str, ...], *, namespaced: bool) -> Problems:
    yield from metadata.validate_object_meta(obj, names.path_segment)
    group, kind, name = (text(fields(obj.get("roleRef")).get(field)) for field in _REFERENCE)
    if group != _GROUP:
        yield unsupported("roleRef.apiGroup", group, (_GROUP,))
    if kind not in kinds:
        yield unsupported("roleRef.kind", kind, kinds)
    yield from validate_required(name, "roleRef.name", names.path_segment)
    for index, subject in enumerate(items(obj.get("subjects"))):
        yield from _validate_subject(fields(subject), f"subjects[{index}]", namespaced=namespaced)


def _validate_subject(subject: Object, path: str, *, namespaced: bool) -> Problems:
    group, kind, name = (text(subject.get(field)) for field in _REFERENCE)
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from each(f"{path}.name", name, names.dns_subdomain(name))
        if group:
            yield unsupported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not text(subject.get("namespace")):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != _GROUP:
            yield unsupported(f"{path}.apiGroup", group, (_GROUP,))
    else:
        yield unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
