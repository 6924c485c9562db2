"""PersistentVolumeClaims and PersistentVolumes. Mirrors `core/validation`, Kubernetes 1.36.

Differs: of volume sources only hostPath, nfs, azureDisk and local are validated.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from whysync.golang.fmt import go_map
from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import difference, internal, same, same_plain
from whysync.kubernetes.validation.placement import validate_node_selector
from whysync.kubernetes.validation.scalars import validate_optional_enum, validate_single_source
from whysync.kubernetes.validation.selectors import validate_label_selector
from whysync.kubernetes.validation.volumes import (
    validate_azure_disk,
    validate_host_path_volume_source,
    validate_nfs_volume_source,
)

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_CHECKS: Final = {
    "hostPath": validate_host_path_volume_source,
    "nfs": validate_nfs_volume_source,
    "azureDisk": validate_azure_disk,
}
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_CLAIM_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_CURRENT_LABEL_KEYS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_persistent_volume_claim(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from validate_persistent_volume_claim_spec(fields(obj.get("spec")), "spec")


def validate_persistent_volume_claim_spec(spec: Object, path: str) -> Problems:
    modes = items(spec.get("accessModes"))
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_label_selector(spec.get("selector"), f"{path}.selector")
    yield from _validate_access_modes(modes, path)
    size, size_path = dig(spec, "resources", "requests", "storage"), f"{path}.resources[storage]"
    if isinstance(size, Missing):
        yield required(size_path)
    else:
        yield from _validate_positive_quantity(size, size_path)
    yield from _validate_class_name(spec.get("storageClassName"), f"{path}.storageClassName")
    yield from validate_optional_enum(spec.get("volumeMode"), f"{path}.volumeMode", _VOLUME_MODES)
    yield from _validate_class_name(
        spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    )


def validate_persistent_volume_claim_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from validate_persistent_volume_claim(new)
    old_spec, new_spec = dict(fields(old.get("spec"))), dict(fields(new.get("spec")))
    if not text(old_spec.get("volumeName")):
        old_spec["volumeName"] = new_spec.get("volumeName")
    yield from _validate_storage_class_update(old, new, old_spec, new_spec)
    if dig(old, "status", "phase") == "Bound":
        _undo_changes_allowed_for_bound_claims(old_spec, new_spec)
    if not same(old_spec, new_spec, "core/v1.PersistentVolumeClaimSpec"):
        spec_diff = difference(
            *(internal(spec, "core/v1.PersistentVolumeClaimSpec") for spec in (old_spec, new_spec))
        )
        yield forbidden("spec", f"{_CLAIM_IMMUTABLE}\n{spec_diff}")
    smaller, least = _is_shrunk_and_above_capacity(old, new)
    if smaller and not least:
        detail = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", detail)
    mode = dig(new, "spec", "volumeMode")
    if mode != dig(old, "spec", "volumeMode"):
        yield invalid("volumeMode", None if isinstance(mode, Missing) else mode, IMMUTABLE)


def validate_persistent_volume(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_persistent_volume_spec(fields(obj.get("spec")))


def validate_persistent_volume_update(old: Object, new: Object) -> Problems:
    yield from validate_persistent_volume(new)
    yield from validate_persistent_volume(new)  # by the strategy and by ValidatePersistentVolumeUpdate
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    kind = "core/v1.PersistentVolumeSource"
    compared_spec = _without_new_expand_secret(old_spec, new_spec)
    if not same(old_spec, compared_spec, kind):
        source_diff = difference(internal(old_spec, kind), internal(compared_spec, kind))
        detail = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", f"{detail}\n{source_diff}")
    if old_spec.get("volumeMode") != new_spec.get("volumeMode"):
        yield invalid("volumeMode", new_spec.get("volumeMode"), IMMUTABLE)
    affinity = old_spec.get("nodeAffinity")
    if affinity is not None and not _same_affinity(affinity, new_spec.get("nodeAffinity")):
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        yield invalid(
            "nodeAffinity", internal(new_spec.get("nodeAffinity"), "core/v1.VolumeNodeAffinity"), detail
        )
    if (
        old_spec.get("volumeAttributesClassName") is not None
        and new_spec.get("volumeAttributesClassName") is None
    ):
        detail = "update from non-nil value to nil is forbidden"
        yield forbidden("spec.volumeAttributesClassName", detail)


def _validate_storage_class_update(old: Object, new: Object, old_spec: Object, new_spec: Object) -> Problems:
    """A claim without a storage class may get one later, also through the beta annotation."""
    annotations = fields(dig(old, "metadata", "annotations")), fields(dig(new, "metadata", "annotations"))
    old_annotation, new_annotation = annotations[0].get(_BETA_CLASS), annotations[1].get(_BETA_CLASS)
    old_class, new_class = old_spec.get("storageClassName"), new_spec.get("storageClassName")
    if (
        old_annotation is not None
        and old_class is None
        and new_class == old_annotation
        and new_annotation in (None, old_annotation)
    ):
        new_spec["storageClassName"] = None
        return
    if text(old_annotation) != text(new_annotation):
        yield invalid(f"metadata.annotations.{_BETA_CLASS}", text(new_annotation), IMMUTABLE)
    if new_class is not None and old_class is None and old_annotation in (None, new_class):
        new_spec["storageClassName"] = old_class


def _undo_changes_allowed_for_bound_claims(old_spec: Object, new_spec: Object) -> None:
    requests = fields(dig(new_spec, "resources", "requests"))
    if requests:
        old_size = fields(dig(old_spec, "resources", "requests")).get("storage")
        new_requests: Object = {**requests, "storage": old_size}
        resources: Object = {**fields(new_spec.get("resources")), "requests": new_requests}
        new_spec["resources"] = resources
    new_spec["volumeAttributesClassName"] = old_spec.get("volumeAttributesClassName")


def _is_shrunk_and_above_capacity(old: Object, new: Object) -> tuple[bool, bool]:
    """Is the request smaller than before, but still larger than status.capacity?"""
    path = ("spec", "resources", "requests", "storage")
    old_size, new_size = quantity_value(dig(old, *path)), quantity_value(dig(new, *path))
    capacity = quantity_value(dig(old, "status", "capacity", "storage"))
    if old_size is None or new_size is None or capacity is None or new_size >= old_size:
        return False, True
    return True, new_size > capacity


def _validate_access_modes(modes: list[Json], path: str) -> Problems:
    for mode in modes:
        if mode not in _MODES:
            yield unsupported(f"{path}.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        detail = "may not use ReadWriteOncePod with other access modes"
        yield forbidden(f"{path}.accessModes", detail)


def _validate_positive_quantity(value: Json, path: str) -> Problems:
    amount = quantity_value(value)
    if amount is not None and amount <= 0:
        yield invalid(path, quantity_text(value), "must be greater than zero")


def _validate_class_name(value: Json | Missing, path: str) -> Problems:
    if text(value):
        yield from each(path, text(value), names.dns_subdomain(text(value)))


def _validate_persistent_volume_spec(spec: Object) -> Problems:
    modes, capacity = items(spec.get("accessModes")), fields(spec.get("capacity"))
    if not modes:
        yield required("spec.accessModes")
    yield from _validate_access_modes(modes, "spec")
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield unsupported("spec.capacity", go_map(spec.get("capacity")), ("storage",))
    for name, value in capacity.items():
        amount = quantity_value(value)
        if amount is not None and amount < 0:
            yield invalid(f"spec.capacity[{name}]", ceil(amount), "must be a valid resource quantity")
        yield from _validate_positive_quantity(value, f"spec.capacity[{name}]")
    policies = ("Delete", "Recycle", "Retain")
    if text(spec.get("persistentVolumeReclaimPolicy")):
        field = "persistentVolumeReclaimPolicy"
        yield from validate_optional_enum(spec.get(field), f"spec.{field}", policies)
    affinity = spec.get("nodeAffinity")
    if isinstance(affinity, dict):
        if affinity.get("required") is None:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            yield from validate_node_selector(affinity.get("required"), "spec.nodeAffinity.required")
    yield from _validate_persistent_volume_source(spec)
    yield from _validate_class_name(spec.get("storageClassName"), "spec.storageClassName")
    yield from validate_optional_enum(spec.get("volumeMode"), "spec.volumeMode", _VOLUME_MODES)


def _validate_persistent_volume_source(spec: Object) -> Problems:
    def validate(kind: str, source: Object) -> Problems:
        if kind in _CHECKS:
            yield from _CHECKS[kind](source, f"spec.{kind}")
        elif kind == "local":
            local_path = text(source.get("path"))
            if not local_path:
                yield required("spec.local.path")
            elif ".." in local_path.split("/"):
                yield invalid("spec.local.path", local_path, "must not contain '..'")
            if spec.get("nodeAffinity") is None:
                yield required("spec.nodeAffinity", "Local volume requires node affinity")

    yield from validate_single_source(spec, "spec", _SOURCES, "volume", validate)


def _without_new_expand_secret(old_spec: Object, new_spec: Object) -> Object:
    field, old_csi, new_csi = (
        "controllerExpandSecretRef",
        fields(old_spec.get("csi")),
        fields(new_spec.get("csi")),
    )
    if old_csi and new_csi and old_csi.get(field) is None and new_csi.get(field) is not None:
        return {**new_spec, "csi": {key: value for key, value in new_csi.items() if key != field}}
    return new_spec


def _same_affinity(old: Json, new: Json) -> bool:
    if same(old, new, "core/v1.VolumeNodeAffinity"):
        return True
    old_terms, new_terms = (items(dig(side, "required", "nodeSelectorTerms")) for side in (old, new))
    return len(old_terms) == len(new_terms) and all(map(_same_term, old_terms, new_terms))


def _same_term(old: Json, new: Json) -> bool:
    old_expressions, new_expressions = (items(fields(side).get("matchExpressions")) for side in (old, new))
    if len(old_expressions) != len(new_expressions) or not same_plain(
        fields(old).get("matchFields"), fields(new).get("matchFields")
    ):
        return False
    return all(
        same_plain(
            {
                **fields(old_expression),
                "key": _current_label_key(fields(old_expression), fields(new_expression)),
            },
            new_expression,
        )
        for old_expression, new_expression in zip(old_expressions, new_expressions, strict=True)
    )


def _current_label_key(old: Object, new: Object) -> Json:
    return (
        new.get("key") if _CURRENT_LABEL_KEYS.get(text(old.get("key"))) == new.get("key") else old.get("key")
    )
