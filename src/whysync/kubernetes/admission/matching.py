"""Matching of requests by admission rules: operation, group, version, resource, scope and namespace."""

from __future__ import annotations

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.validation.selectors import selects


def covers(rule: Object, call: RequestContext, operation: str) -> bool:
    resource, sub = call.resource, call.address.subresource
    if sub:
        names = {"*/*", f"*/{sub}", f"{resource.plural}/{sub}", f"{resource.plural}/*"}
    else:
        names = {"*", "*/*", resource.plural, f"{resource.plural}/*"}
    scope = text(rule.get("scope"), "*")
    return (
        _has_any(rule, "operations", {"*", operation})
        and _has_any(rule, "apiGroups", {"*", resource.group})
        and _has_any(rule, "apiVersions", {"*", resource.version})
        and _has_any(rule, "resources", names)
        and scope in {"*", "Namespaced" if resource.namespaced else "Cluster"}
    )


def _has_any(rule: Object, key: str, accepted: set[str]) -> bool:
    return any(text(value) in accepted for value in items(rule.get(key)))


def in_namespace(selector: Json, call: RequestContext, store: Store) -> bool:
    """Does the selector match the labels of the request's namespace? Cluster-wide objects always do."""
    if not call.resource.namespaced:
        return True
    namespace = store.get((("", "namespaces"), "", call.address.namespace))
    return namespace is None or selects(selector, fields(dig(namespace, "metadata", "labels")))


def variables_of(
    obj: Object, old: Object | None, call: RequestContext, operation: str, store: Store
) -> Object:
    """The CEL variables of webhooks and policies."""
    resource, request = call.resource, call.request
    groups: list[Json] = [*request.groups]
    user_info: Object = {"username": request.user or "admin", "groups": groups}
    namespace = store.get((("", "namespaces"), "", call.address.namespace)) if resource.namespaced else None
    request_variable: Object = {
        "kind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "subResource": call.address.subresource,
        "name": text(dig(obj, "metadata", "name")),
        "namespace": call.address.namespace,
        "operation": operation,
        "userInfo": user_info,
        "dryRun": request.dry_run,
    }
    return {
        "object": None if operation == "DELETE" else obj,
        "oldObject": obj if operation == "DELETE" else old,
        "request": request_variable,
        "namespaceObject": namespace,
    }
