"""The `scale` subresource: the number of replicas, without the object around it."""

from __future__ import annotations

from whysync.contracts.tree import Json, Object, fields, integer, items, text


def scale_of(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    kept = {
        key: meta[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in meta
    }
    spec, status = fields(obj.get("spec")), fields(obj.get("status"))
    told: Object = {"replicas": integer(status.get("replicas"))}
    selector = selector_text(spec.get("selector"))
    if selector:
        told["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {"replicas": integer(spec.get("replicas"))},
        "status": told,
    }


def selector_text(selector: Json) -> str:
    """A label selector on one line: `app=web,tier in (a,b)`."""
    parts = [f"{key}={text(value)}" for key, value in fields(fields(selector).get("matchLabels")).items()]
    for raw in items(fields(selector).get("matchExpressions")):
        rule = fields(raw)
        key, how = text(rule.get("key")), text(rule.get("operator"))
        values = ",".join(sorted(text(value) for value in items(rule.get("values"))))
        if how == "Exists":
            parts.append(key)
        elif how == "DoesNotExist":
            parts.append(f"!{key}")
        else:
            parts.append(f"{key} {'in' if how == 'In' else 'notin'} ({values})")
    return ",".join(sorted(parts))
