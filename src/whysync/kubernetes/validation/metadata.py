"""Object metadata: labels, annotations, owner references, finalizers, and which fields are immutable.

Mirrors apimachinery `api/validation` and the wrappers of `core/validation`, Kubernetes 1.36.
"""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    NOT_NEGATIVE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    too_long,
)
from whysync.kubernetes.validation.internal_types import internal, internal_list

ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def meta(obj: Object) -> Object:
    return fields(obj.get("metadata"))


def name_of(obj: Object) -> str:
    return text(meta(obj).get("name"))


def validate_object_meta(obj: Object, validate_name: names.NameForm) -> Problems:
    """Metadata of a new object, with the finalizer names of core kinds."""
    yield from validate_object_meta_accessor(obj, validate_name)
    yield from _validate_kube_finalizer_names(obj)


def validate_object_meta_accessor(obj: Object, validate_name: names.NameForm) -> Problems:
    """Metadata of a new object, for kinds that accept any finalizer name."""
    object_meta = meta(obj)
    name, prefix = text(object_meta.get("name")), text(object_meta.get("generateName"))
    if prefix:
        yield from each("metadata.generateName", prefix, validate_name(names.mask_trailing_dash(prefix)))
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from each("metadata.name", name, validate_name(name))
    generation = integer(object_meta.get("generation"))
    if generation < 0:
        yield invalid("metadata.generation", generation, NOT_NEGATIVE)
    if object_meta.get("labels"):
        yield from validate_labels(object_meta.get("labels"), "metadata.labels")
    if object_meta.get("annotations"):
        yield from validate_annotations(object_meta.get("annotations"), "metadata.annotations")
    if object_meta.get("ownerReferences"):
        yield from _validate_owner_references(object_meta)
    if object_meta.get("finalizers"):
        yield from _validate_finalizers(object_meta)


def validate_object_meta_update(old: Object, new: Object) -> Problems:
    """Metadata of a changed object, with the finalizer names of core kinds."""
    yield from validate_object_meta_accessor_update(old, new)
    yield from _validate_kube_finalizer_names(new)


def validate_object_meta_accessor_update(old: Object, new: Object) -> Problems:
    """Metadata of a changed object. Fields that the server carries over (uid) may be absent."""
    old_meta, new_meta = meta(old), meta(new)
    if old_meta.get("deletionTimestamp") is not None:
        yield from _validate_no_new_finalizers(old_meta, new_meta)
    for field in ("name", "namespace"):
        old_value, new_value = text(old_meta.get(field)), text(new_meta.get(field))
        if old_value and old_value != new_value:  # the server drops the namespace of an object that has none
            yield invalid(f"metadata.{field}", new_value, IMMUTABLE)
    uid = text(new_meta.get("uid"))
    if uid and uid != text(old_meta.get("uid")):
        yield invalid("metadata.uid", uid, IMMUTABLE)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        value = new_meta.get(field)
        is_carried_over = old_meta.get(field) is not None and (value is None or field == "deletionTimestamp")
        if value != old_meta.get(field) and not is_carried_over:
            yield invalid(f"metadata.{field}", value, IMMUTABLE)
    yield from validate_labels(new_meta.get("labels"), "metadata.labels")
    yield from validate_annotations(new_meta.get("annotations"), "metadata.annotations")
    yield from _validate_owner_references(new_meta)


def validate_before_update(old: Object, new: Object) -> Problems:
    """Checks of all kinds before those of the kind itself. Mirrors `rest.BeforeUpdate`."""
    yield from validate_object_meta_accessor(new, names.path_segment)
    yield from validate_object_meta_accessor_update(old, new)


def validate_labels(values: Json | Missing, path: str) -> Problems:
    for key, value in fields(values).items():
        if messages := names.qualified_name(key):
            yield from each(path, key, messages)
        if messages := names.label_value(text(value)):
            yield from each(path, text(value), messages)


def validate_annotations(annotations: Json | Missing, path: str) -> Problems:
    size = 0
    for key, value in fields(annotations).items():
        if messages := names.qualified_name(key.lower()):
            yield from each(path, key, messages)
        size += len(key.encode("utf-8", "replace")) + len(text(value).encode("utf-8", "replace"))
    if size > ANNOTATIONS_LIMIT:
        yield too_long(path, ANNOTATIONS_LIMIT)


def _validate_kube_finalizer_names(obj: Object) -> Problems:
    """A finalizer without a domain must be one of Kubernetes' own."""
    for index, finalizer in enumerate(items(meta(obj).get("finalizers"))):
        if "/" not in text(finalizer) and text(finalizer) not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", text(finalizer), detail)


def _validate_finalizers(object_meta: Object) -> Problems:
    finalizers = [text(item) for item in items(object_meta.get("finalizers"))]
    for finalizer in finalizers:
        yield from each("metadata.finalizers", finalizer, names.qualified_name(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid("metadata.finalizers", list[Json](finalizers), detail)


def _validate_no_new_finalizers(old_meta: Object, new_meta: Object) -> Problems:
    old_finalizers = {text(item) for item in items(old_meta.get("finalizers"))}
    added = sorted({text(item) for item in items(new_meta.get("finalizers"))} - old_finalizers)
    if added:
        listed = ", ".join(f'"{name}"' for name in added)
        yield forbidden(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}",
        )


def _validate_owner_references(object_meta: Object) -> Problems:
    path, owners = "metadata.ownerReferences", items(object_meta.get("ownerReferences"))
    controller = ""
    for item in owners:
        owner = fields(item)
        yield from _validate_owner_reference(owner, path)
        if owner.get("controller") is True:
            owner_text = f"{text(owner.get('kind'))}/{text(owner.get('name'))}"
            if controller:
                yield invalid(
                    path,
                    internal_list(owners, "meta/v1.OwnerReference"),
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {owner_text}',
                )
            else:
                controller = owner_text


def _validate_owner_reference(owner: Object, path: str) -> Problems:
    version = text(owner.get("apiVersion")).rpartition("/")[2]
    if not version or text(owner.get("apiVersion")).count("/") > 1:
        yield invalid(f"{path}.apiVersion", text(owner.get("apiVersion")), "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not text(owner.get(field)):
            yield invalid(f"{path}.{field}", "", "must not be empty")
    if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
        detail = "/v1, Kind=Event is disallowed from being an owner"
        yield invalid(path, internal(owner, "meta/v1.OwnerReference"), detail)
