"""Kinds with few checks: Namespaces, ServiceAccounts, Nodes, PodTemplates, PriorityClasses, RuntimeClasses,
Leases, ResourceClaims and their templates.
"""

from __future__ import annotations

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
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
from whysync.kubernetes.validation.internal_types import internal, same
from whysync.kubernetes.validation.placement import validate_tolerations
from whysync.kubernetes.validation.pods import validate_pod_template_spec
from whysync.kubernetes.validation.resources import validate_container_resource_requirements
from whysync.kubernetes.validation.scalars import (
    validate_enum,
    validate_required,
)

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FROM_NOTHING = 'except from "" to valid'
_CLAIM_TEMPLATE = "resource/v1.ResourceClaimTemplateSpec"
_CLAIM = "resource/v1.ResourceClaimSpec"
_STANDARD = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_POD_SECURITY = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")


def validate_namespace(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_label)
    for item in items(dig(obj, "spec", "finalizers")):
        finalizer = text(item)
        yield from each("spec.finalizers", finalizer, names.qualified_name(finalizer))
        if "/" not in finalizer and finalizer not in _STANDARD:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid("spec.finalizers", finalizer, detail)


def validate_namespace_update(old: Object, new: Object) -> Problems:
    yield from validate_namespace(new)
    yield from metadata.validate_object_meta_update(old, new)


def validate_pod_security_labels(old: Object | None, new: Object) -> Problems:
    """Problems that the PodSecurity admission plugin reports for an otherwise valid Namespace."""
    old_labels, new_labels = (
        fields(metadata.meta(namespace or {}).get("labels")) for namespace in (old, new)
    )
    for mode in ("enforce", "audit", "warn"):
        level = new_labels.get(f"{_POD_SECURITY}{mode}")
        if level is not None and level not in _LEVELS and level != old_labels.get(f"{_POD_SECURITY}{mode}"):
            detail = f"must be one of {', '.join(_LEVELS)}"
            yield invalid(f"metadata.labels[{_POD_SECURITY}{mode}]", text(level), detail)


def validate_service_account(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)


def validate_service_account_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from validate_service_account(new)


def validate_priority_class(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    name, value = metadata.name_of(obj), integer(obj.get("value"))
    if name.startswith("system-"):
        error = _system_priority_class_error(name, value, is_default=obj.get("globalDefault") is True)
        if error:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden("metadata.name", detail + error)
    elif value > _HIGHEST:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield forbidden("value", detail)
    if obj.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        yield from validate_enum(obj.get("preemptionPolicy"), "preemptionPolicy", policies, sort=False)


def validate_priority_class_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    if integer(old.get("value")) != integer(new.get("value")):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


def validate_runtime_class(obj: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor(obj, names.dns_subdomain)
    handler = text(obj.get("handler"))
    yield from validate_required(handler, "handler", names.dns_label)
    if isinstance(obj.get("overhead"), dict):
        yield from validate_container_resource_requirements(
            {"limits": fields(dig(obj, "overhead", "podFixed"))}, "overhead"
        )
    scheduling = fields(obj.get("scheduling"))
    yield from metadata.validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    yield from validate_tolerations(scheduling.get("tolerations"), "scheduling.tolerations")


def validate_runtime_class_update(old: Object, new: Object) -> Problems:
    yield from validate_runtime_class(new)
    yield from metadata.validate_object_meta_accessor_update(old, new)
    if text(old.get("handler")) != text(new.get("handler")):
        yield invalid("handler", text(new.get("handler")), IMMUTABLE)


def validate_lease(obj: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor(obj, names.dns_subdomain)
    yield from _validate_lease_spec(fields(obj.get("spec")))


def validate_lease_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_accessor_update(old, new)
    yield from _validate_lease_spec(fields(new.get("spec")))


def validate_resource_claim(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)


def validate_resource_claim_update(old: Object, new: Object) -> Problems:
    yield from validate_resource_claim(new)
    yield from metadata.validate_object_meta_update(old, new)
    if not same(dig(old, "spec"), dig(new, "spec"), _CLAIM):
        yield invalid("spec", internal(dig(new, "spec"), _CLAIM), IMMUTABLE)


def validate_node(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_taints(obj)


def validate_node_update(old: Object, new: Object) -> Problems:
    yield from validate_node(new)
    yield from metadata.validate_object_meta_update(old, new)
    old_cidrs, new_cidrs = items(dig(old, "spec", "podCIDRs")), items(dig(new, "spec", "podCIDRs"))
    if old_cidrs and old_cidrs != new_cidrs:
        yield forbidden("spec.podCIDRs", f"node updates may not change podCIDR {_FROM_NOTHING}")
    old_provider, new_provider = text(dig(old, "spec", "providerID")), text(dig(new, "spec", "providerID"))
    if old_provider and old_provider != new_provider:
        yield forbidden("spec.providerID", f"node updates may not change providerID {_FROM_NOTHING}")
    yield from _validate_taints(new)


def validate_pod_template(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from validate_pod_template_spec(obj.get("template"), "template")


def validate_pod_template_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from validate_pod_template_spec(new.get("template"), "template")


def validate_resource_claim_template(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)


def validate_resource_claim_template_update(old: Object, new: Object) -> Problems:
    yield from validate_resource_claim_template(new)
    yield from metadata.validate_object_meta_update(old, new)
    if not same(dig(old, "spec"), dig(new, "spec"), _CLAIM_TEMPLATE):
        yield invalid("spec", internal(dig(new, "spec"), _CLAIM_TEMPLATE), IMMUTABLE)


def _validate_taints(obj: Object) -> Problems:
    """As upstream, problems of taints have paths below `metadata`."""
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(items(dig(obj, "spec", "taints"))):
        path, taint = f"metadata.taints[{index}]", fields(item)
        key, value, effect = (text(taint.get(field)) for field in ("key", "value", "effect"))
        yield from each(f"{path}.key", key, names.qualified_name(key))
        errors = tuple(names.label_value(value))
        if errors:
            yield invalid(f"{path}.value", value, ";".join(errors))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in _TAINT_EFFECTS:
            yield unsupported(f"{path}.effect", effect, _TAINT_EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield duplicate(path, internal(taint, "core/v1.Taint"), detail)
        seen.add((key, effect))


def _validate_lease_spec(spec: Object) -> Problems:
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and integer(duration) <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and integer(transitions) < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if text(spec.get("preferredHolder")) and not text(spec.get("strategy")):
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _system_priority_class_error(name: str, value: int, *, is_default: bool) -> str:
    expected = _SYSTEM.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
