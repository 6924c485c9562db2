"""Tracking methods: label, annotation, annotation+label.

Mirrors `util/argo` `ResourceTracking` and the controller's `isSelfReferencedObj`, Argo CD 3.6.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from whysync.golang.fmt import go_text, go_type
from whysync.json_tree import Missing, Object, copy_object, dig, fields, text
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.ref import ref_of

# Labels and annotations of a raw object: read, set and removed as Argo CD does, without changing it.
#
# Mirrors `util/kube`, Argo CD 3.6: one value that is not a string makes the whole map unreadable, and
# the text of that error reaches the user as a condition.


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


# The tracking annotation: `<app>:<group>/<kind>:<namespace>/<name>`.


class TrackingId(NamedTuple):
    app: str
    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def parse(cls, value: str) -> TrackingId | None:
        """`None` if it is not a tracking id. Names may contain colons (as in RBAC), but no slashes."""
        segments = value.split(":", 2)
        if len(segments) != 3:
            return None
        app, group_kind, qualified_name = segments
        kind, namespace_name = group_kind.split("/"), qualified_name.split("/")
        if len(kind) != 2 or len(namespace_name) != 2:
            return None
        return cls(app, kind[0], kind[1], namespace_name[0], namespace_name[1])

    @classmethod
    def of(cls, obj: Object, *, app: str, namespace: str = "") -> TrackingId:
        """The tracking id that Argo CD writes to `obj`; `namespace` is used if the object has none."""
        ref = ref_of(obj)
        return cls(app, ref.group, ref.kind, ref.namespace or namespace, ref.name)

    def describes(self, obj: Object) -> bool:
        """Does it refer to this object? The id of a cluster-scoped object has the app's namespace."""
        ref = ref_of(obj)
        return (
            ref.namespace in ("", self.namespace)
            and ref.name == self.name
            and ref.group == self.group
            and ref.kind == self.kind
        )

    def __str__(self) -> str:
        return f"{self.app}:{self.group}/{self.kind}:{self.namespace}/{self.name}"


def instance_name(name: str, namespace: str, default_namespace: str) -> str:
    """The instance name of an Application: its name in Argo CD's namespace, otherwise `namespace_name`."""
    return name if namespace in ("", default_namespace) else f"{namespace}_{name}"


TRACKING_ID = "argocd.argoproj.io/tracking-id"
TRACKING_ID_POINTER = pointer.join(("metadata", "annotations", TRACKING_ID))
INSTALLATION_ID = "argocd.argoproj.io/installation-id"
INSTANCE_LABEL = "app.kubernetes.io/instance"
METHOD_SETTING = "application.resourceTrackingMethod"
_LONGEST_LABEL = 63


class TrackingMethod(StrEnum):
    LABEL = "label"
    ANNOTATION = "annotation"
    ANNOTATION_AND_LABEL = "annotation+label"

    @classmethod
    def parse(cls, value: str) -> TrackingMethod:
        """Empty and unknown values mean the default."""
        return cls(value) if value in (cls.LABEL, cls.ANNOTATION_AND_LABEL) else cls.ANNOTATION


class LabelTooLong(ValueError):
    """No prefix of the name is a valid label value."""


def is_label_only(method: str) -> bool:
    """Does the method use labels only? An empty method, which no setting results in, counts too."""
    return method in ("", TrackingMethod.LABEL)


def tracking_id_of(obj: Object, *, installation_id: str = "") -> TrackingId | None:
    """The tracking id on an object, if there is one and it is from this installation of Argo CD."""
    if installation_id:
        annotations = fields(dig(obj, "metadata", "annotations"))
        if text(annotations.get(INSTALLATION_ID)) != installation_id:
            return None
    try:
        return TrackingId.parse(annotation_of(obj, TRACKING_ID))
    except MalformedMetadata:
        return None


def owner_of(obj: Object, *, method: str, label_key: str = INSTANCE_LABEL, installation_id: str = "") -> str:
    """The instance name of the Application that owns an object; empty if none does."""
    if method == TrackingMethod.LABEL:
        try:
            return label_of(obj, label_key)
        except MalformedMetadata:
            return ""
    tracking_id = tracking_id_of(obj, installation_id=installation_id)
    return tracking_id.app if tracking_id else ""


def with_tracking(
    obj: Object,
    *,
    app: str,
    method: str,
    namespace: str = "",
    label_key: str = INSTANCE_LABEL,
    installation_id: str = "",
) -> Object:
    """The object with tracking metadata, as Argo CD compares or applies it."""
    if method == TrackingMethod.LABEL:
        return _labeled(obj, label_key, app)  # never truncated: the value must identify the app
    tracking_id = str(TrackingId.of(obj, app=app, namespace=namespace))
    if installation_id:
        obj = with_annotation(obj, INSTALLATION_ID, installation_id)
    else:
        obj = without_annotation(obj, INSTALLATION_ID)
    obj = with_annotation(obj, TRACKING_ID, tracking_id)
    return (
        _labeled(obj, label_key, app, shorten=True) if method == TrackingMethod.ANNOTATION_AND_LABEL else obj
    )


def truncated_label(value: str) -> str:
    """Truncated to the maximum length of a label value, ending with a letter or digit."""
    if len(value.encode()) <= _LONGEST_LABEL:
        return value
    cut = value.encode()[:_LONGEST_LABEL]
    while cut and not (cut[-1:].isalnum() and cut[-1] < 128):
        cut = cut[:-1]
    if not cut:
        raise LabelTooLong("unable to truncate label to not end with a special character")
    return cut.decode(errors="replace")


def normalized_live(
    desired: Object | None, live: Object | None, *, method: str, label_key: str
) -> Object | None:
    """The live object for a comparison: a change of the tracking method from label to annotation is ignored.

    A live object with the label and without the annotation gets the annotation of the target; tracking
    metadata of another app stays, because that is a real difference.
    """
    if is_label_only(method) or live is None or desired is None:
        return live
    if not label_of(live, label_key) or _is_crd(live):
        return live
    if not annotation_of(live, TRACKING_ID):
        live = with_annotation(live, TRACKING_ID, annotation_of(desired, TRACKING_ID))
    return live if label_of(desired, label_key) else without_label(live, label_key)


def is_self_referenced(
    live: Object | None, desired: Object | None, *, app: str, method: str, installation_id: str = ""
) -> bool:
    """Does the tracking id of `live` refer to `live` itself, so that it was not copied from another object?

    If there is a target, its identity is used, so that an object stays managed when its API group changes.
    """
    if live is None or method == TrackingMethod.LABEL:
        return True
    if desired is not None:
        return TrackingId.of(desired, app=app).describes(live)
    if method not in (TrackingMethod.ANNOTATION, TrackingMethod.ANNOTATION_AND_LABEL):
        return True
    tracking_id = tracking_id_of(live, installation_id=installation_id)
    return tracking_id is None or tracking_id.describes(live)


def _labeled(obj: Object, key: str, value: str, *, shorten: bool = False) -> Object:
    try:
        return with_instance_label(obj, key, truncated_label(value) if shorten else value)
    except (MalformedMetadata, LabelTooLong) as problem:
        raise type(problem)(f"failed to set app instance label: {problem}") from problem


def _is_crd(obj: Object) -> bool:
    ref = ref_of(obj)
    return ref.group == "apiextensions.k8s.io" and ref.kind == "CustomResourceDefinition"
