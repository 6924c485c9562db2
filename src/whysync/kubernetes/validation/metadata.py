"""Labels, annotations, owners, finalizers, and what of them may not change.

Mirrors apimachinery `api/validation` and the wrappers of `core/validation`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

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

NameForm: TypeAlias = Callable[[str], Iterator[str]]

ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def meta(obj: Object) -> Object:
    return fields(obj.get("metadata"))


def name_of(obj: Object) -> str:
    return text(meta(obj).get("name"))


def on_create(obj: Object, form: NameForm) -> Problems:
    """The usual checks of a new object's metadata."""
    yield from on_create_generic(obj, form)
    yield from kube_finalizers(obj)


def on_create_generic(obj: Object, form: NameForm) -> Problems:
    """Without the rule that finalizers are qualified, which some kinds do not have."""
    object_meta = meta(obj)
    name, prefix = text(object_meta.get("name")), text(object_meta.get("generateName"))
    if prefix:
        yield from each("metadata.generateName", prefix, form(names.for_generating(prefix)))
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from each("metadata.name", name, form(name))
    generation = integer(object_meta.get("generation"))
    if generation < 0:
        yield invalid("metadata.generation", generation, NOT_NEGATIVE)
    yield from labels(object_meta.get("labels"), "metadata.labels")
    yield from annotation_map(object_meta.get("annotations"), "metadata.annotations")
    yield from _owners(object_meta)
    yield from _finalizers(object_meta)


def on_update(old: Object, new: Object) -> Problems:
    """What every kind's own update checks begin with."""
    yield from on_update_generic(old, new)
    yield from kube_finalizers(new)


def on_update_generic(old: Object, new: Object) -> Problems:
    """Fields that the server carries over by itself (uid, creationTimestamp, generation) may be absent."""
    before, after = meta(old), meta(new)
    if before.get("deletionTimestamp") is not None:
        yield from _no_new_finalizers(before, after)
    for field in ("name", "namespace"):
        was, now = text(before.get(field)), text(after.get(field))
        if was and was != now:  # the server drops the namespace of an object that has none
            yield invalid(f"metadata.{field}", now, IMMUTABLE)
    uid = text(after.get("uid"))
    if uid and uid != text(before.get("uid")):
        yield invalid("metadata.uid", uid, IMMUTABLE)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        value = after.get(field)
        carried = before.get(field) is not None and (value is None or field == "deletionTimestamp")
        if value != before.get(field) and not carried:
            yield invalid(f"metadata.{field}", value, IMMUTABLE)
    yield from labels(after.get("labels"), "metadata.labels")
    yield from annotation_map(after.get("annotations"), "metadata.annotations")
    yield from _owners(after)


def common_on_update(old: Object, new: Object) -> Problems:
    """What the server checks for all kinds before their own rules. Mirrors `rest.BeforeUpdate`."""
    yield from on_create_generic(new, names.path_segment)
    yield from on_update_generic(old, new)


def labels(values: Json | Missing, path: str) -> Problems:
    for key, value in fields(values).items():
        yield from each(path, key, names.label_key(key))
        yield from each(path, text(value), names.label_value(text(value)))


def annotation_map(annotations: Json | Missing, path: str) -> Problems:
    size = 0
    for key, value in fields(annotations).items():
        yield from each(path, key, names.label_key(key.lower()))
        size += len(key.encode("utf-8", "replace")) + len(text(value).encode("utf-8", "replace"))
    if size > ANNOTATIONS_LIMIT:
        yield too_long(path, ANNOTATIONS_LIMIT)


def kube_finalizers(obj: Object) -> Problems:
    """A finalizer without a domain must be one of Kubernetes' own."""
    for index, finalizer in enumerate(items(meta(obj).get("finalizers"))):
        if "/" not in text(finalizer) and text(finalizer) not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", text(finalizer), detail)


def _finalizers(object_meta: Object) -> Problems:
    finalizers = [text(item) for item in items(object_meta.get("finalizers"))]
    for finalizer in finalizers:
        yield from each("metadata.finalizers", finalizer, names.label_key(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid("metadata.finalizers", list[Json](finalizers), detail)


def _no_new_finalizers(before: Object, after: Object) -> Problems:
    known = {text(item) for item in items(before.get("finalizers"))}
    added = sorted({text(item) for item in items(after.get("finalizers"))} - known)
    if added:
        listed = ", ".join(f'"{name}"' for name in added)
        yield forbidden(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}",
        )


def _owners(object_meta: Object) -> Problems:
    path, owners = "metadata.ownerReferences", items(object_meta.get("ownerReferences"))
    controller = ""
    for item in owners:
        owner = fields(item)
        yield from _owner(owner, path)
        if owner.get("controller") is True:
            named = f"{text(owner.get('kind'))}/{text(owner.get('name'))}"
            if controller:
                yield invalid(
                    path,
                    internal_list(owners, "meta/v1.OwnerReference"),
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {named}',
                )
            else:
                controller = named


def _owner(owner: Object, path: str) -> Problems:
    version = text(owner.get("apiVersion")).rpartition("/")[2]
    if not version or text(owner.get("apiVersion")).count("/") > 1:
        yield invalid(f"{path}.apiVersion", text(owner.get("apiVersion")), "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not text(owner.get(field)):
            yield invalid(f"{path}.{field}", "", "must not be empty")
    if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
        detail = "/v1, Kind=Event is disallowed from being an owner"
        yield invalid(path, internal(owner, "meta/v1.OwnerReference"), detail)
