"""StorageClasses and the other kinds of `storage.k8s.io`. Mirrors `storage/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal, same, same_plain
from whysync.kubernetes.validation.scalars import (
    validate_enum,
    validate_optional_enum,
    validate_required,
)
from whysync.kubernetes.validation.selectors import printable, validate_label_selector

_MOST_PARAMETERS, _LARGEST_PARAMETERS = 512, 256 * 1024
_CSI_NODE_DRIVER = "storage/v1.CSINodeDriver"
_LIFECYCLES = ("Persistent", "Ephemeral")
_FS_GROUPS = ("File", "None", "ReadWriteOnceWithFSType")


def validate_storage_class(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_provisioner(obj, "provisioner")
    yield from _validate_parameters(obj)
    if text(obj.get("reclaimPolicy")):
        yield from validate_optional_enum(obj.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"))
    yield from validate_enum(
        obj.get("volumeBindingMode"), "volumeBindingMode", ("Immediate", "WaitForFirstConsumer")
    )


def validate_storage_class_update(old: Object, new: Object) -> Problems:
    yield from validate_storage_class(new)
    yield from metadata.validate_object_meta_update(old, new)
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        value = new.get(field)
        if not same_plain(old.get(field), value):
            yield invalid(field, go_map(value) if isinstance(value, dict) else value, IMMUTABLE)


def validate_csi_driver(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_csi_driver_spec(fields(obj.get("spec")))


def validate_csi_driver_update(old: Object, new: Object) -> Problems:
    """As upstream, the path of `attachRequired` is `spec.attachedRequired`."""
    yield from metadata.validate_object_meta_update(old, new)
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    yield from _validate_csi_driver_spec(new_spec)
    if old_spec.get("attachRequired") != new_spec.get("attachRequired"):
        yield invalid("spec.attachedRequired", new_spec.get("attachRequired"), IMMUTABLE)
    if not same_plain(old_spec.get("volumeLifecycleModes"), new_spec.get("volumeLifecycleModes")):
        yield invalid("spec.volumeLifecycleModes", new_spec.get("volumeLifecycleModes"), IMMUTABLE)


def validate_volume_attachment(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    spec = fields(obj.get("spec"))
    attacher, source, node = (
        text(spec.get("attacher")),
        fields(spec.get("source")),
        text(spec.get("nodeName")),
    )
    if not attacher:
        yield required("spec.attacher")
    else:
        if len(attacher) > 63:
            yield too_long("spec.attacher", 63)
        yield from each("spec.attacher", attacher, names.dns_subdomain(attacher.lower()))
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    either = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and volume is None:
        yield required("spec.source", either)
    elif inline is not None and volume is not None:
        yield forbidden("spec.source", either)
    elif volume is not None and not text(volume):
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    yield from each("spec.nodeName", node, names.dns_subdomain(node))
    if volume is not None:
        path = "spec.source.persistentVolumeName"
        yield from each(path, text(volume), names.dns_subdomain(text(volume)))


def validate_volume_attachment_update(old: Object, new: Object) -> Problems:
    yield from validate_volume_attachment(new)
    kind = "storage/v1.VolumeAttachmentSpec"
    if not same(dig(old, "spec"), dig(new, "spec"), kind):
        yield invalid("spec", internal(dig(new, "spec"), kind), IMMUTABLE)


def validate_volume_attributes_class(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_provisioner(obj, "driverName")
    yield from _validate_parameters(obj)
    if not fields(obj.get("parameters")):
        yield required("parameters", "must contain at least one key/value pair")


def validate_volume_attributes_class_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    for field in ("driverName", "parameters"):
        if not same_plain(old.get(field), new.get(field)):
            yield forbidden(field, f"updates to {field} are forbidden.")
    yield from validate_volume_attributes_class(new)


def validate_csi_storage_capacity(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from validate_label_selector(obj.get("nodeTopology"), "nodeTopology")
    name = text(obj.get("storageClassName"))
    yield from each("storageClassName", name, names.dns_subdomain(name))


def validate_csi_storage_capacity_update(old: Object, new: Object) -> Problems:
    yield from validate_csi_storage_capacity(new)
    yield from metadata.validate_object_meta_update(old, new)
    if not same(old.get("nodeTopology"), new.get("nodeTopology"), "meta/v1.LabelSelector"):
        yield invalid("nodeTopology", printable(new.get("nodeTopology")), IMMUTABLE)
    if text(old.get("storageClassName")) != text(new.get("storageClassName")):
        yield invalid("storageClassName", text(new.get("storageClassName")), IMMUTABLE)


def validate_csi_node(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    seen: set[str] = set()
    for index, item in enumerate(items(dig(obj, "spec", "drivers"))):
        path, driver = f"spec.drivers[{index}]", fields(item)
        name = text(driver.get("name"))
        if not name:
            yield required(f"{path}.name")
        if not text(driver.get("nodeID")):
            yield required(f"{path}.nodeID")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def validate_csi_node_update(old: Object, new: Object) -> Problems:
    """Of a driver only `allocatable` may change."""
    yield from validate_csi_node(new)
    for old_item in items(dig(old, "spec", "drivers")):
        for new_item in items(dig(new, "spec", "drivers")):
            old_driver, new_driver = ({**fields(item), "allocatable": None} for item in (old_item, new_item))
            if old_driver.get("name") == new_driver.get("name") and not same(
                old_driver, new_driver, _CSI_NODE_DRIVER
            ):
                yield invalid("spec.drivers", internal(new_driver, _CSI_NODE_DRIVER), IMMUTABLE)


def _validate_provisioner(obj: Object, field: str) -> Problems:
    name = text(obj.get(field)).lower()
    yield from validate_required(name, field, names.qualified_name)


def _validate_parameters(obj: Object) -> Problems:
    parameters = fields(obj.get("parameters"))
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    size = sum(len(key.encode("utf-8", "replace")) + _size(value) for key, value in parameters.items())
    if size > _LARGEST_PARAMETERS:
        yield too_long("parameters", _LARGEST_PARAMETERS)


def _size(value: Json | Missing) -> int:
    return len(text(value).encode("utf-8", "replace"))


def _validate_csi_driver_spec(spec: Object) -> Problems:
    for field, reported_as in (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ):
        if spec.get(field) is None:
            yield required(f"spec.{reported_as}")
    yield from validate_optional_enum(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", _FS_GROUPS)
    yield from _validate_token_requests(items(spec.get("tokenRequests")))
    for mode in items(spec.get("volumeLifecycleModes")):
        if mode not in _LIFECYCLES:
            yield unsupported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    if spec.get("seLinuxMount") is None:
        yield required("spec.seLinuxMount")


def _validate_token_requests(requests: list[Json]) -> Problems:
    seen: set[str] = set()
    for index, item in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", text(fields(item).get("audience"))
        seconds = fields(item).get("expirationSeconds")
        if audience in seen:
            yield duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        if seconds is not None and integer(seconds) < 600:
            detail = "may not specify a duration less than 10 minutes"
            yield invalid(f"{path}.expirationSeconds", seconds, detail)
