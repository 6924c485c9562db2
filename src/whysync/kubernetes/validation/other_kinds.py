"""Kinds that people seldom write but that have fields which may not change."""

from __future__ import annotations

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.pods import template
from whysync.kubernetes.validation.scalars import cidr

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FROM_NOTHING = 'except from "" to valid'
_CLAIM_TEMPLATE = "resource/v1.ResourceClaimTemplateSpec"
_DRIVER = "storage/v1.CSINodeDriver"


def node(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _taints(obj)


def node_on_update(old: Object, new: Object) -> Problems:
    yield from node(new)
    yield from metadata.on_update(old, new)
    before, after = items(dig(old, "spec", "podCIDRs")), items(dig(new, "spec", "podCIDRs"))
    if before and before != after:
        yield forbidden("spec.podCIDRs", f"node updates may not change podCIDR {_FROM_NOTHING}")
    was, now = text(dig(old, "spec", "providerID")), text(dig(new, "spec", "providerID"))
    if was and was != now:
        yield forbidden("spec.providerID", f"node updates may not change providerID {_FROM_NOTHING}")
    yield from _taints(new)


def pod_template(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from template(obj.get("template"), "template")


def pod_template_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from template(new.get("template"), "template")


def claim_template(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)


def claim_template_on_update(old: Object, new: Object) -> Problems:
    yield from claim_template(new)
    yield from metadata.on_update(old, new)
    if not same(dig(old, "spec"), dig(new, "spec"), _CLAIM_TEMPLATE):
        yield invalid("spec", internal(dig(new, "spec"), _CLAIM_TEMPLATE), IMMUTABLE)


def csi_node(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
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


def csi_node_on_update(old: Object, new: Object) -> Problems:
    """How many volumes a driver takes may change, nothing else of it."""
    yield from csi_node(new)
    for was in items(dig(old, "spec", "drivers")):
        for now in items(dig(new, "spec", "drivers")):
            before, after = ({**fields(side), "allocatable": None} for side in (was, now))
            if before.get("name") == after.get("name") and not same(before, after, _DRIVER):
                yield invalid("spec.drivers", internal(after, _DRIVER), IMMUTABLE)


def service_cidr(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _ranges(obj)


def service_cidr_on_update(old: Object, new: Object) -> Problems:
    """A second family of addresses may be added."""
    yield from metadata.on_update(old, new)
    path, before, after = "spec.cidrs", items(dig(old, "spec", "cidrs")), items(dig(new, "spec", "cidrs"))
    if len(before) != len(after) and (len(before), len(after)) != (1, 2):
        yield invalid(path, after if isinstance(dig(new, "spec", "cidrs"), list) else None, IMMUTABLE)
        return
    for index, (was, now) in enumerate(zip(before, after, strict=False)):
        if was != now:
            yield invalid(f"{path}[{index}]", now, IMMUTABLE)
    if len(before) < len(after):
        yield from _ranges(new)


def ip_address(obj: Object) -> Problems:
    """Its name is the address."""
    yield from metadata.on_create(obj, names.path_segment)
    if not isinstance(dig(obj, "spec", "parentRef"), dict):
        yield required("spec.parentRef")


def ip_address_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    kind, parent = "networking/v1.ParentReference", dig(new, "spec", "parentRef")
    if not same(dig(old, "spec", "parentRef"), parent, kind):
        yield invalid("spec.parentRef", internal(parent, kind), IMMUTABLE)


def _ranges(obj: Object) -> Problems:
    path, cidrs = "spec.cidrs", items(dig(obj, "spec", "cidrs"))
    if not cidrs:
        yield required(path, "at least one CIDR required")
        return
    for index, value in enumerate(cidrs):
        yield from cidr(text(value), f"{path}[{index}]")


def _taints(obj: Object) -> Problems:
    """Problems of taints, which upstream reports with paths below `metadata`."""
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(items(dig(obj, "spec", "taints"))):
        path, taint = f"metadata.taints[{index}]", fields(item)
        key, value, effect = (text(taint.get(field)) for field in ("key", "value", "effect"))
        yield from each(f"{path}.key", key, names.label_key(key))
        wrong = tuple(names.label_value(value))
        if wrong:
            yield invalid(f"{path}.value", value, ";".join(wrong))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in _EFFECTS:
            yield unsupported(f"{path}.effect", effect, _EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield duplicate(path, internal(taint, "core/v1.Taint"), detail)
        seen.add((key, effect))
