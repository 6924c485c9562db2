"""Resource tracking: the labels and annotations that assign a resource to an Application."""

from whysync.argocd.tracking.marks import (
    MalformedMetadata,
    annotation_of,
    label_of,
    with_annotation,
    with_instance_label,
    without_annotation,
    without_label,
)
from whysync.argocd.tracking.method import (
    INSTALLATION_ID,
    INSTANCE_LABEL,
    TRACKING_ID,
    LabelTooLong,
    TrackingMethod,
    is_label_only,
    is_self_referenced,
    normalized_live,
    owner_of,
    tracking_id_of,
    truncated_label,
    with_tracking,
)
from whysync.argocd.tracking.tracking_id import TrackingId, instance_name

__all__ = [
    "INSTALLATION_ID",
    "INSTANCE_LABEL",
    "TRACKING_ID",
    "LabelTooLong",
    "MalformedMetadata",
    "TrackingId",
    "TrackingMethod",
    "annotation_of",
    "instance_name",
    "is_label_only",
    "is_self_referenced",
    "label_of",
    "normalized_live",
    "owner_of",
    "tracking_id_of",
    "truncated_label",
    "with_annotation",
    "with_instance_label",
    "with_tracking",
    "without_annotation",
    "without_label",
]
