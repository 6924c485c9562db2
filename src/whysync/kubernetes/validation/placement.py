"""Where a pod may run: node selectors, affinity, tolerations, spreading."""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    Problems,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.scalars import optional_one_of
from whysync.kubernetes.validation.selectors import label_selector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def affinity(affinity_value: Json | Missing, path: str) -> Problems:
    nodes = fields(fields(affinity_value).get("nodeAffinity"))
    if isinstance(nodes.get(_REQUIRED), dict):
        yield from node_selector(nodes.get(_REQUIRED), f"{path}.nodeAffinity.{_REQUIRED}")
    for index, item in enumerate(items(nodes.get(_PREFERRED))):
        where = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _weight(fields(item), where)
        yield from _node_term(fields(fields(item).get("preference")), f"{where}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods, where = fields(fields(affinity_value).get(kind)), f"{path}.{kind}"
        for index, item in enumerate(items(pods.get(_REQUIRED))):
            yield from _pod_term(fields(item), f"{where}.{_REQUIRED}[{index}]")
        for index, item in enumerate(items(pods.get(_PREFERRED))):
            yield from _weight(fields(item), f"{where}.{_PREFERRED}[{index}]")
            term = fields(fields(item).get("podAffinityTerm"))
            yield from _pod_term(term, f"{where}.{_PREFERRED}[{index}].podAffinityTerm")


def node_selector(selector: Json | Missing, path: str) -> Problems:
    terms = items(fields(selector).get("nodeSelectorTerms"))
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term(fields(term), f"{path}.nodeSelectorTerms[{index}]")


def tolerations(toleration_list: Json | Missing, path: str) -> Problems:
    for index, item in enumerate(items(toleration_list)):
        yield from _toleration(fields(item), f"{path}[{index}]")


def spread(constraint_list: Json | Missing, path: str) -> Problems:
    constraints = [fields(item) for item in items(constraint_list)]
    for index, constraint in enumerate(constraints):
        yield from _constraint(constraint, f"{path}[{index}]", constraints[index + 1 :])


def _weight(term: Object, path: str) -> Problems:
    weight = integer(term.get("weight"))
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _node_term(term: Object, path: str) -> Problems:
    for index, item in enumerate(items(term.get("matchExpressions"))):
        yield from _node_requirement(fields(item), f"{path}.matchExpressions[{index}]")


def _node_requirement(requirement: Object, path: str) -> Problems:
    operator, values = text(requirement.get("operator")), items(requirement.get("values"))
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", detail)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{path}.values", detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = text(requirement.get("key"))
    yield from each(f"{path}.key", key, names.label_key(key))
    for index, value in enumerate(values):
        yield from each(f"{path}.values[{index}]", text(value), names.label_value(text(value)))


def _pod_term(term: Object, path: str) -> Problems:
    yield from label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for item in items(term.get("namespaces")):
        yield from each(f"{path}.namespace", text(item), names.dns_label(text(item)))
    topology = text(term.get("topologyKey"))
    if not topology:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from each(f"{path}.topologyKey", topology, names.label_key(topology))


def _toleration(toleration: Object, path: str) -> Problems:
    key, operator, value, effect = (
        text(toleration.get(field)) for field in ("key", "operator", "value", "effect")
    )
    if key:
        yield from each(f"{path}.key", key, names.label_key(key))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, detail)
    yield from _operator(operator, value, path)
    if effect and effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", effect, _EFFECTS)


def _operator(operator: str, value: str, path: str) -> Problems:
    if operator in ("", "Equal"):
        wrong = tuple(names.label_value(value))
        if wrong:
            yield invalid(f"{path}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", value, detail)
    elif operator in ("Lt", "Gt"):  # behind a feature gate that is off
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))


def _constraint(constraint: Object, path: str, others: list[Object]) -> Problems:
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
        for other in others
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
        yield from optional_one_of(constraint.get(field), f"{path}.{field}", ("Honor", "Ignore"))
    yield from label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")
