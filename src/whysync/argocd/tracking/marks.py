"""Labels and annotations of a raw object: read, set and removed as Argo CD does, without changing it.

Mirrors `util/kube`, Argo CD 3.6: one value that is not a string makes the whole map unreadable, and
the text of that error reaches the user as a condition.
"""

from __future__ import annotations

from whysync.golang.fmt import go_text, go_type
from whysync.json_tree import Missing, Object, copy_object, dig, fields
from whysync.kubernetes.api.ref import ref_of

LEGACY_LABEL = "applications.argoproj.io/app-name"

_WITH_POD_TEMPLATE = {
    "apps": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
    "extensions": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
    "batch": ("Job",),
}


class MalformedMetadata(ValueError):
    """Labels or annotations that are not a map of strings."""


def annotation_of(obj: Object, key: str) -> str:
    return _strings(obj, "annotations", reading="annotations from target object").get(key, "")


def label_of(obj: Object, key: str) -> str:
    return _strings(obj, "labels", reading="labels for").get(key, "")


def with_annotation(obj: Object, key: str, value: str) -> Object:
    annotations = _strings(obj, "annotations", reading="annotations from target object")
    return _with(obj, "annotations", annotations | {key: value})


def without_annotation(obj: Object, key: str) -> Object:
    annotations = _strings(obj, "annotations", reading="annotations for")
    return _without(obj, "annotations", annotations, key)


def without_label(obj: Object, key: str) -> Object:
    labels = _strings(obj, "labels", reading="labels for")
    return _without(obj, "labels", labels, key)


def with_instance_label(obj: Object, key: str, value: str) -> Object:
    """Adds the label to the object; the legacy key is also added to its Pod template."""
    labels = _strings(obj, "labels", reading="labels from target object")
    labeled = _with(obj, "labels", labels | {key: value})
    ref = ref_of(obj)
    if key != LEGACY_LABEL or ref.kind not in _WITH_POD_TEMPLATE.get(ref.group, ()):
        return labeled
    labeled = copy_object(labeled)
    template = _map_in(_map_in(_map_in(labeled, "spec"), "template"), "metadata")
    below = _map_in(template, "labels")
    if ref.api_version in ("apps/v1beta1", "extensions/v1beta1") and not fields(
        dig(labeled, "spec", "selector")
    ):
        # these versions default the selector from the template: without this it would hold the label
        fields(labeled["spec"])["selector"] = {"matchLabels": {k: v for k, v in below.items() if k != key}}
    below[key] = value
    return labeled


def _map_in(parent: Object, key: str) -> Object:
    child = fields(parent.get(key))
    parent[key] = child
    return child


def _with(obj: Object, field: str, values: dict[str, str]) -> Object:
    return {**obj, "metadata": {**fields(obj.get("metadata")), field: {**values}}}


def _without(obj: Object, field: str, values: dict[str, str], key: str) -> Object:
    if key not in values:
        return obj
    remaining: Object = {name: value for name, value in values.items() if name != key}
    metadata = {name: value for name, value in fields(obj.get("metadata")).items() if name != field}
    return {**obj, "metadata": {**metadata, field: remaining} if remaining else metadata}


def _strings(obj: Object, field: str, *, reading: str) -> dict[str, str]:
    value = dig(obj, "metadata", field)
    if isinstance(value, Missing) or value is None:
        return {}
    problem = f".metadata.{field} accessor error: "
    if not isinstance(value, dict):
        problem += f"{go_text(value)} is of the type {go_type(value)}, expected map[string]interface {{}}"
        raise MalformedMetadata(f"failed to get {reading} {_go_name(obj)}: {problem}")
    strings: dict[str, str] = {}
    for key in sorted(value):
        item = value[key]
        if not isinstance(item, str):
            problem += f'contains non-string value in the map under key "{key}": '
            problem += f"{go_text(item)} is of the type {go_type(item)}, expected string"
            raise MalformedMetadata(f"failed to get {reading} {_go_name(obj)}: {problem}")
        strings[key] = item
    return strings


def _go_name(obj: Object) -> str:
    ref = ref_of(obj)
    return f"{ref.group}/{ref.version}, Kind={ref.kind} {ref.namespace}/{ref.name}"
