"""Small kinds: Namespaces, ServiceAccounts, PriorityClasses, RuntimeClasses, Leases, ResourceClaims."""

from __future__ import annotations

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same
from whysync.kubernetes.validation.field_error import IMMUTABLE, Problems, each, forbidden, invalid, required
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.placement import tolerations
from whysync.kubernetes.validation.resources import container_resources
from whysync.kubernetes.validation.scalars import one_of

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_CLAIM = "resource/v1.ResourceClaimSpec"
_STANDARD = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_POD_SECURITY = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")


def namespace(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_label)
    for item in items(dig(obj, "spec", "finalizers")):
        finalizer = text(item)
        yield from each("spec.finalizers", finalizer, names.label_key(finalizer))
        if "/" not in finalizer and finalizer not in _STANDARD:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid("spec.finalizers", finalizer, detail)


def namespace_on_update(old: Object, new: Object) -> Problems:
    yield from namespace(new)
    yield from metadata.on_update(old, new)


def pod_security_labels(old: Object | None, new: Object) -> Problems:
    """Problems that the PodSecurity admission plugin reports for an otherwise valid Namespace."""
    before, after = (fields(metadata.meta(side or {}).get("labels")) for side in (old, new))
    for mode in ("enforce", "audit", "warn"):
        level = after.get(f"{_POD_SECURITY}{mode}")
        if level is not None and level not in _LEVELS and level != before.get(f"{_POD_SECURITY}{mode}"):
            detail = f"must be one of {', '.join(_LEVELS)}"
            yield invalid(f"metadata.labels[{_POD_SECURITY}{mode}]", text(level), detail)


def service_account(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)


def service_account_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from service_account(new)


def priority_class(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    name, value = metadata.name_of(obj), integer(obj.get("value"))
    if name.startswith("system-"):
        wrong = _not_the_system_class(name, value, is_default=obj.get("globalDefault") is True)
        if wrong:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden("metadata.name", detail + wrong)
    elif value > _HIGHEST:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield forbidden("value", detail)
    if obj.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        yield from one_of(obj.get("preemptionPolicy"), "preemptionPolicy", policies, sort=False)


def priority_class_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    if integer(old.get("value")) != integer(new.get("value")):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


def runtime_class(obj: Object) -> Problems:
    yield from metadata.on_create_generic(obj, names.dns_subdomain)
    handler = text(obj.get("handler"))
    if handler:
        yield from each("handler", handler, names.dns_label(handler))
    else:
        yield required("handler")
    if isinstance(obj.get("overhead"), dict):
        yield from container_resources({"limits": fields(dig(obj, "overhead", "podFixed"))}, "overhead")
    scheduling = fields(obj.get("scheduling"))
    yield from metadata.labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    yield from tolerations(scheduling.get("tolerations"), "scheduling.tolerations")


def runtime_class_on_update(old: Object, new: Object) -> Problems:
    yield from runtime_class(new)
    yield from metadata.on_update_generic(old, new)
    if text(old.get("handler")) != text(new.get("handler")):
        yield invalid("handler", text(new.get("handler")), IMMUTABLE)


def lease(obj: Object) -> Problems:
    yield from metadata.on_create_generic(obj, names.dns_subdomain)
    yield from _lease_spec(fields(obj.get("spec")))


def lease_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update_generic(old, new)
    yield from _lease_spec(fields(new.get("spec")))


def resource_claim(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)


def resource_claim_on_update(old: Object, new: Object) -> Problems:
    yield from resource_claim(new)
    yield from metadata.on_update(old, new)
    if not same(dig(old, "spec"), dig(new, "spec"), _CLAIM):
        yield invalid("spec", internal(dig(new, "spec"), _CLAIM), IMMUTABLE)


def _lease_spec(spec: Object) -> Problems:
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and integer(duration) <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and integer(transitions) < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if text(spec.get("preferredHolder")) and not text(spec.get("strategy")):
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _not_the_system_class(name: str, value: int, *, is_default: bool) -> str:
    known = _SYSTEM.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
