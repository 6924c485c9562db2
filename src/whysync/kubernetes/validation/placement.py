"""Scheduling of pods: node selectors, affinity, tolerations, topology spread. Mirrors `core/validation`."""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    Problems,
    duplicate,
    each,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.scalars import validate_optional_enum
from whysync.kubernetes.validation.selectors import operator_and_values, validate_label_selector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def validate_affinity(affinity_value: Json | Missing, path: str) -> Problems:
    node_affinity = fields(fields(affinity_value).get("nodeAffinity"))
    if isinstance(node_affinity.get(_REQUIRED), dict):
        yield from validate_node_selector(node_affinity.get(_REQUIRED), f"{path}.nodeAffinity.{_REQUIRED}")
    for index, item in enumerate(items(node_affinity.get(_PREFERRED))):
        item_path = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _validate_weight(fields(item), item_path)
        yield from _validate_node_selector_term(
            fields(fields(item).get("preference")), f"{item_path}.preference"
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        pod_affinity, item_path = fields(fields(affinity_value).get(kind)), f"{path}.{kind}"
        for index, item in enumerate(items(pod_affinity.get(_REQUIRED))):
            yield from _validate_pod_affinity_term(fields(item), f"{item_path}.{_REQUIRED}[{index}]")
        for index, item in enumerate(items(pod_affinity.get(_PREFERRED))):
            yield from _validate_weight(fields(item), f"{item_path}.{_PREFERRED}[{index}]")
            term = fields(fields(item).get("podAffinityTerm"))
            yield from _validate_pod_affinity_term(term, f"{item_path}.{_PREFERRED}[{index}].podAffinityTerm")


def validate_node_selector(selector: Json | Missing, path: str) -> Problems:
    terms = items(fields(selector).get("nodeSelectorTerms"))
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _validate_node_selector_term(fields(term), f"{path}.nodeSelectorTerms[{index}]")


def validate_tolerations(toleration_list: Json | Missing, path: str) -> Problems:
    for index, item in enumerate(items(toleration_list)):
        yield from _validate_toleration(fields(item), f"{path}[{index}]")


def validate_topology_spread_constraints(constraint_list: Json | Missing, path: str) -> Problems:
    constraints = [fields(item) for item in items(constraint_list)]
    for index, constraint in enumerate(constraints):
        yield from _validate_topology_spread_constraint(
            constraint, f"{path}[{index}]", constraints[index + 1 :]
        )


def _validate_weight(term: Object, path: str) -> Problems:
    weight = integer(term.get("weight"))
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_selector_term(term: Object, path: str) -> Problems:
    for index, item in enumerate(items(term.get("matchExpressions"))):
        yield from _validate_node_selector_requirement(fields(item), f"{path}.matchExpressions[{index}]")


def _validate_node_selector_requirement(requirement: Object, path: str) -> Problems:
    operator, values = text(requirement.get("operator")), items(requirement.get("values"))
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{path}.values", detail)
    else:
        yield from operator_and_values(operator, values, path)
    key = text(requirement.get("key"))
    yield from each(f"{path}.key", key, names.qualified_name(key))
    for index, value in enumerate(values):
        yield from each(f"{path}.values[{index}]", text(value), names.label_value(text(value)))


def _validate_pod_affinity_term(term: Object, path: str) -> Problems:
    yield from validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for item in items(term.get("namespaces")):
        yield from each(f"{path}.namespace", text(item), names.dns_label(text(item)))
    topology = text(term.get("topologyKey"))
    if not topology:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from each(f"{path}.topologyKey", topology, names.qualified_name(topology))


def _validate_toleration(toleration: Object, path: str) -> Problems:
    key, operator, value, effect = (
        text(toleration.get(field)) for field in ("key", "operator", "value", "effect")
    )
    if key:
        yield from each(f"{path}.key", key, names.qualified_name(key))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, detail)
    yield from _validate_toleration_operator(operator, value, path)
    if effect and effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", effect, _EFFECTS)


def _validate_toleration_operator(operator: str, value: str, path: str) -> Problems:
    if operator in ("", "Equal"):
        errors = tuple(names.label_value(value))
        if errors:
            yield invalid(f"{path}.operator", value, ";".join(errors))
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", value, detail)
    elif operator in ("Lt", "Gt"):  # behind a feature gate that is off
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))


def _validate_topology_spread_constraint(
    constraint: Object, path: str, later_constraints: list[Object]
) -> Problems:
    skew, key, action = (
        integer(constraint.get("maxSkew")),
        text(constraint.get("topologyKey")),
        text(constraint.get("whenUnsatisfiable")),
    )
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if action not in _ACTIONS:
        yield unsupported(f"{path}.whenUnsatisfiable", action, _ACTIONS)
    if any(
        text(other.get("topologyKey")) == key and text(other.get("whenUnsatisfiable")) == action
        for other in later_constraints
    ):
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    domains = constraint.get("minDomains")
    if domains is not None:
        if integer(domains) <= 0:
            yield invalid(f"{path}.minDomains", integer(domains), "must be greater than zero")
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", domains, detail)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from validate_optional_enum(constraint.get(field), f"{path}.{field}", ("Honor", "Ignore"))
    yield from validate_label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")
