"""PersistentVolumeClaims and PersistentVolumes. Mirrors `core/validation`, Kubernetes 1.36.

Differs: of a volume's source only hostPath, nfs, azureDisk and local are looked into.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from whysync.golang.fmt import go_map
from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same, same_plain
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import difference, internal
from whysync.kubernetes.validation.placement import node_selector
from whysync.kubernetes.validation.scalars import optional_one_of
from whysync.kubernetes.validation.selectors import label_selector
from whysync.kubernetes.validation.volumes import azure_disk, host_path, nfs

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_CLAIM_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_NEWER_KEYS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def claim(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from claim_spec(fields(obj.get("spec")), "spec")


def claim_spec(spec: Object, path: str) -> Problems:
    modes = items(spec.get("accessModes"))
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), f"{path}.selector")
    yield from _access_modes(modes, path)
    size, where = dig(spec, "resources", "requests", "storage"), f"{path}.resources[storage]"
    if isinstance(size, Missing):
        yield required(where)
    else:
        yield from _positive(size, where)
    yield from _class_name(spec.get("storageClassName"), f"{path}.storageClassName")
    yield from optional_one_of(spec.get("volumeMode"), f"{path}.volumeMode", _VOLUME_MODES)
    yield from _class_name(spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName")


def claim_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from claim(new)
    before, after = dict(fields(old.get("spec"))), dict(fields(new.get("spec")))
    if not text(before.get("volumeName")):
        before["volumeName"] = after.get("volumeName")
    yield from _storage_class(old, new, before, after)
    if dig(old, "status", "phase") == "Bound":  # a change of the spec carries the old status along
        _forgive_what_bound_claims_may(before, after)
    if not same(before, after, "core/v1.PersistentVolumeClaimSpec"):
        shown = difference(*(internal(spec, "core/v1.PersistentVolumeClaimSpec") for spec in (before, after)))
        yield forbidden("spec", f"{_CLAIM_IMMUTABLE}\n{shown}")
    smaller, least = _sizes(old, new)
    if smaller and not least:
        detail = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", detail)
    mode = dig(new, "spec", "volumeMode")
    if mode != dig(old, "spec", "volumeMode"):
        yield invalid("volumeMode", None if isinstance(mode, Missing) else mode, IMMUTABLE)


def volume(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _volume_spec(fields(obj.get("spec")))


def volume_on_update(old: Object, new: Object) -> Problems:
    yield from volume(new)
    yield from volume(new)  # upstream's strategy and its update check both do it
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    kind = "core/v1.PersistentVolumeSource"
    forgiven = _without_new_expand_secret(before, after)
    if not same(before, forgiven, kind):
        shown = difference(internal(before, kind), internal(forgiven, kind))
        detail = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", f"{detail}\n{shown}")
    if before.get("volumeMode") != after.get("volumeMode"):
        yield invalid("volumeMode", after.get("volumeMode"), IMMUTABLE)
    affinity = before.get("nodeAffinity")
    if affinity is not None and not _same_affinity(affinity, after.get("nodeAffinity")):
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        yield invalid(
            "nodeAffinity", internal(after.get("nodeAffinity"), "core/v1.VolumeNodeAffinity"), detail
        )
    if before.get("volumeAttributesClassName") is not None and after.get("volumeAttributesClassName") is None:
        detail = "update from non-nil value to nil is forbidden"
        yield forbidden("spec.volumeAttributesClassName", detail)


def _storage_class(old: Object, new: Object, before: Object, after: Object) -> Problems:
    """A claim without a class may get one later, also by way of the old annotation."""
    marks = fields(dig(old, "metadata", "annotations")), fields(dig(new, "metadata", "annotations"))
    was, is_now = marks[0].get(_BETA_CLASS), marks[1].get(_BETA_CLASS)
    name, new_class = before.get("storageClassName"), after.get("storageClassName")
    if was is not None and name is None and new_class == was and is_now in (None, was):
        after["storageClassName"] = None
        return
    if text(was) != text(is_now):
        yield invalid(f"metadata.annotations.{_BETA_CLASS}", text(is_now), IMMUTABLE)
    if new_class is not None and name is None and was in (None, new_class):
        after["storageClassName"] = name


def _forgive_what_bound_claims_may(before: Object, after: Object) -> None:
    requests = fields(dig(after, "resources", "requests"))
    if requests:
        size = fields(dig(before, "resources", "requests")).get("storage")
        asked: Object = {**requests, "storage": size}
        resources: Object = {**fields(after.get("resources")), "requests": asked}
        after["resources"] = resources
    after["volumeAttributesClassName"] = before.get("volumeAttributesClassName")


def _sizes(old: Object, new: Object) -> tuple[bool, bool]:
    """Is the request smaller than before, but still larger than status.capacity?"""
    path = ("spec", "resources", "requests", "storage")
    was, now = quantity_value(dig(old, *path)), quantity_value(dig(new, *path))
    capacity = quantity_value(dig(old, "status", "capacity", "storage"))
    if was is None or now is None or capacity is None or now >= was:
        return False, True
    return True, now > capacity


def _access_modes(modes: list[Json], path: str) -> Problems:
    for mode in modes:
        if mode not in _MODES:
            yield unsupported(f"{path}.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        detail = "may not use ReadWriteOncePod with other access modes"
        yield forbidden(f"{path}.accessModes", detail)


def _positive(value: Json, path: str) -> Problems:
    worth = quantity_value(value)
    if worth is not None and worth <= 0:
        yield invalid(path, quantity_text(value), "must be greater than zero")


def _class_name(value: Json | Missing, path: str) -> Problems:
    if text(value):
        yield from each(path, text(value), names.dns_subdomain(text(value)))


def _volume_spec(spec: Object) -> Problems:
    modes, capacity = items(spec.get("accessModes")), fields(spec.get("capacity"))
    if not modes:
        yield required("spec.accessModes")
    yield from _access_modes(modes, "spec")
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield unsupported("spec.capacity", go_map(spec.get("capacity")), ("storage",))
    for name, value in capacity.items():
        worth = quantity_value(value)
        if worth is not None and worth < 0:
            yield invalid(f"spec.capacity[{name}]", ceil(worth), "must be a valid resource quantity")
        yield from _positive(value, f"spec.capacity[{name}]")
    policies = ("Delete", "Recycle", "Retain")
    if text(spec.get("persistentVolumeReclaimPolicy")):
        field = "persistentVolumeReclaimPolicy"
        yield from optional_one_of(spec.get(field), f"spec.{field}", policies)
    affinity = spec.get("nodeAffinity")
    if isinstance(affinity, dict):
        if affinity.get("required") is None:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            yield from node_selector(affinity.get("required"), "spec.nodeAffinity.required")
    yield from _volume_source(spec)
    yield from _class_name(spec.get("storageClassName"), "spec.storageClassName")
    yield from optional_one_of(spec.get("volumeMode"), "spec.volumeMode", _VOLUME_MODES)


def _volume_source(spec: Object) -> Problems:
    taken = False
    for kind in _SOURCES:
        source = spec.get(kind)
        if not isinstance(source, dict):
            continue
        if taken:
            yield forbidden(f"spec.{kind}", "may not specify more than 1 volume type")
            continue
        taken = True
        if kind == "hostPath":
            yield from host_path(source, "spec.hostPath")
        elif kind == "nfs":
            yield from nfs(source, "spec.nfs")
        elif kind == "azureDisk":
            yield from azure_disk(source, "spec.azureDisk")
        elif kind == "local":
            place = text(source.get("path"))
            if not place:
                yield required("spec.local.path")
            elif ".." in place.split("/"):
                yield invalid("spec.local.path", place, "must not contain '..'")
            if spec.get("nodeAffinity") is None:
                yield required("spec.nodeAffinity", "Local volume requires node affinity")
    if not taken:
        yield required("spec", "must specify a volume type")


def _without_new_expand_secret(before: Object, after: Object) -> Object:
    field, was, now = "controllerExpandSecretRef", fields(before.get("csi")), fields(after.get("csi"))
    if was and now and was.get(field) is None and now.get(field) is not None:
        return {**after, "csi": {key: value for key, value in now.items() if key != field}}
    return after


def _same_affinity(old: Json, new: Json) -> bool:
    if same(old, new, "core/v1.VolumeNodeAffinity"):
        return True
    before, after = (items(dig(side, "required", "nodeSelectorTerms")) for side in (old, new))
    return len(before) == len(after) and all(map(_same_term, before, after))


def _same_term(old: Json, new: Json) -> bool:
    before, after = (items(fields(side).get("matchExpressions")) for side in (old, new))
    if len(before) != len(after) or not same_plain(
        fields(old).get("matchFields"), fields(new).get("matchFields")
    ):
        return False
    return all(
        same_plain({**fields(old_expression), "key": _newer(fields(old_expression), fields(other))}, other)
        for old_expression, other in zip(before, after, strict=True)
    )


def _newer(old: Object, new: Object) -> Json:
    return new.get("key") if _NEWER_KEYS.get(text(old.get("key"))) == new.get("key") else old.get("key")
