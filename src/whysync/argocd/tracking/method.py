"""Tracking methods: label, annotation, annotation+label.

Mirrors `util/argo` `ResourceTracking` and the controller's `isSelfReferencedObj`, Argo CD 3.6.
"""

from __future__ import annotations

from enum import StrEnum

from whysync.argocd.tracking.marks import (
    MalformedMetadata,
    annotation_of,
    label_of,
    with_annotation,
    with_instance_label,
    without_annotation,
    without_label,
)
from whysync.argocd.tracking.tracking_id import TrackingId
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.ref import ref_of

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
