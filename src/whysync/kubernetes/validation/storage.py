"""StorageClasses and the other kinds of `storage.k8s.io`. Mirrors `storage/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same, same_plain
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
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.scalars import one_of, optional_one_of
from whysync.kubernetes.validation.selectors import label_selector, printable

_MOST_PARAMETERS, _LARGEST_PARAMETERS = 512, 256 * 1024
_LIFECYCLES = ("Persistent", "Ephemeral")
_FS_GROUPS = ("File", "None", "ReadWriteOnceWithFSType")


def storage_class(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _provisioner(obj, "provisioner")
    yield from _parameters(obj)
    if text(obj.get("reclaimPolicy")):
        yield from optional_one_of(obj.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"))
    yield from one_of(
        obj.get("volumeBindingMode"), "volumeBindingMode", ("Immediate", "WaitForFirstConsumer")
    )


def storage_class_on_update(old: Object, new: Object) -> Problems:
    yield from storage_class(new)
    yield from metadata.on_update(old, new)
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        value = new.get(field)
        if not same_plain(old.get(field), value):
            yield invalid(field, go_map(value) if isinstance(value, dict) else value, IMMUTABLE)


def csi_driver(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _driver_spec(fields(obj.get("spec")))


def csi_driver_on_update(old: Object, new: Object) -> Problems:
    """The field is called `attachRequired`; upstream's message says otherwise."""
    yield from metadata.on_update(old, new)
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    yield from _driver_spec(after)
    if before.get("attachRequired") != after.get("attachRequired"):
        yield invalid("spec.attachedRequired", after.get("attachRequired"), IMMUTABLE)
    if not same_plain(before.get("volumeLifecycleModes"), after.get("volumeLifecycleModes")):
        yield invalid("spec.volumeLifecycleModes", after.get("volumeLifecycleModes"), IMMUTABLE)


def volume_attachment(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
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


def volume_attachment_on_update(old: Object, new: Object) -> Problems:
    yield from volume_attachment(new)
    kind = "storage/v1.VolumeAttachmentSpec"
    if not same(dig(old, "spec"), dig(new, "spec"), kind):
        yield invalid("spec", internal(dig(new, "spec"), kind), IMMUTABLE)


def attributes_class(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _provisioner(obj, "driverName")
    yield from _parameters(obj)
    if not fields(obj.get("parameters")):
        yield required("parameters", "must contain at least one key/value pair")


def attributes_class_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    for field in ("driverName", "parameters"):
        if not same_plain(old.get(field), new.get(field)):
            yield forbidden(field, f"updates to {field} are forbidden.")
    yield from attributes_class(new)


def storage_capacity(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from label_selector(obj.get("nodeTopology"), "nodeTopology")
    name = text(obj.get("storageClassName"))
    yield from each("storageClassName", name, names.dns_subdomain(name))


def storage_capacity_on_update(old: Object, new: Object) -> Problems:
    yield from storage_capacity(new)
    yield from metadata.on_update(old, new)
    if not same(old.get("nodeTopology"), new.get("nodeTopology"), "meta/v1.LabelSelector"):
        yield invalid("nodeTopology", printable(new.get("nodeTopology")), IMMUTABLE)
    if text(old.get("storageClassName")) != text(new.get("storageClassName")):
        yield invalid("storageClassName", text(new.get("storageClassName")), IMMUTABLE)


def _provisioner(obj: Object, field: str) -> Problems:
    name = text(obj.get(field)).lower()
    if name:
        yield from each(field, name, names.label_key(name))
    else:
        yield required(field)


def _parameters(obj: Object) -> Problems:
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


def _driver_spec(spec: Object) -> Problems:
    for field, called in (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ):
        if spec.get(field) is None:
            yield required(f"spec.{called}")
    yield from optional_one_of(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", _FS_GROUPS)
    yield from _token_requests(items(spec.get("tokenRequests")))
    for mode in items(spec.get("volumeLifecycleModes")):
        if mode not in _LIFECYCLES:
            yield unsupported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    if spec.get("seLinuxMount") is None:
        yield required("spec.seLinuxMount")


def _token_requests(requests: list[Json]) -> Problems:
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
