"""The `scale` subresource."""

from __future__ import annotations

from functools import cache
from typing import Final

from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.schema.types import Type, type_of

SCALE_VERSION: Final = "autoscaling/v1"
SCALE: Final = "Scale"


@cache
def scale_schema() -> Type:
    schema = type_of(SCALE_VERSION, SCALE)
    assert schema is not None
    return schema


_BUILT_IN: Final[Object] = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}


def _keys_of(path: str) -> tuple[str, ...]:
    """The keys of a path such as `.spec.replicas`."""
    return tuple(key for key in path.split(".") if key)


def scale_of(obj: Object, served: Served) -> Object:
    """The scale of an object; for a custom resource, by the paths in its definition."""
    paths = served.scale if isinstance(served, CustomResource) else _BUILT_IN
    meta = fields(obj.get("metadata"))
    scale_meta = {
        key: meta[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in meta
    }
    replicas = dig(obj, *_keys_of(text(paths.get("specReplicasPath"))))
    if isinstance(replicas, Missing) and isinstance(served, CustomResource):
        why = f'the spec replicas field "{text(paths.get("specReplicasPath"))}" does not exist'
        raise Refused(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})
    status: Object = {"replicas": integer(dig(obj, *_keys_of(text(paths.get("statusReplicasPath")))))}
    selector = dig(obj, *_keys_of(text(paths.get("labelSelectorPath"))))
    selector = selector_text(selector) if isinstance(selector, dict) else text(selector)
    if selector:
        status["selector"] = selector
    return {
        "kind": SCALE,
        "apiVersion": SCALE_VERSION,
        "metadata": scale_meta,
        "spec": {"replicas": integer(replicas)} if integer(replicas) else {},
        "status": status,
    }


def selector_text(selector: Json) -> str:
    """A label selector on one line: `app=web,tier in (a,b)`."""
    parts = [f"{key}={text(value)}" for key, value in fields(fields(selector).get("matchLabels")).items()]
    for raw in items(fields(selector).get("matchExpressions")):
        rule = fields(raw)
        key, operator = text(rule.get("key")), text(rule.get("operator"))
        values = ",".join(sorted(text(value) for value in items(rule.get("values"))))
        if operator == "Exists":
            parts.append(key)
        elif operator == "DoesNotExist":
            parts.append(f"!{key}")
        else:
            parts.append(f"{key} {'in' if operator == 'In' else 'notin'} ({values})")
    return ",".join(sorted(parts))
