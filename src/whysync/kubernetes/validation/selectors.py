"""Label selectors: validation and matching. Mirrors apimachinery `labels` and `meta/v1/validation`."""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import Problems, each, forbidden, invalid, required
from whysync.kubernetes.validation.internal_types import internal

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def validate_label_selector(selector: Json | Missing, path: str) -> Problems:
    selector_fields = fields(selector)
    yield from metadata.validate_labels(selector_fields.get("matchLabels"), f"{path}.matchLabels")
    for index, item in enumerate(items(selector_fields.get("matchExpressions"))):
        yield from _validate_label_selector_requirement(fields(item), f"{path}.matchExpressions[{index}]")


def _validate_label_selector_requirement(requirement: Object, path: str) -> Problems:
    operator, values = text(requirement.get("operator")), items(requirement.get("values"))
    yield from operator_and_values(operator, values, path)
    key = text(requirement.get("key"))
    yield from each(f"{path}.key", key, names.qualified_name(key))
    for index, value in enumerate(values):
        yield from each(f"{path}.values[{index}]", text(value), names.label_value(text(value)))


def operator_and_values(operator: str, values: list[Json], path: str) -> Problems:
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def is_empty(selector: Json | Missing) -> bool:
    selector_fields = fields(selector)
    return not selector_fields.get("matchLabels") and not selector_fields.get("matchExpressions")


def is_valid(selector: Json | Missing) -> bool:
    """Is the selector valid? A missing selector is valid and matches nothing."""
    selector_fields = fields(selector)
    checks = (
        metadata.validate_labels(selector_fields.get("matchLabels"), ""),
        *(
            _validate_label_selector_requirement(fields(item), "")
            for item in items(selector_fields.get("matchExpressions"))
        ),
    )
    return not any(True for check in checks for _ in check)


def matches(selector: Json | Missing, labels: Json | Missing) -> bool:
    """Does the selector match these labels? A missing selector matches nothing, an empty one everything."""
    if not isinstance(selector, dict):
        return False
    label_map = fields(labels)
    if any(label_map.get(key) != value for key, value in fields(selector.get("matchLabels")).items()):
        return False
    return all(
        _requirement_matches(fields(item), label_map) for item in items(selector.get("matchExpressions"))
    )


def selects(selector: Json | Missing, labels: Object) -> bool:
    """Does the selector match these labels? A missing selector matches everything."""
    return not isinstance(selector, dict) or matches(selector, labels)


def printable(selector: Json | Missing) -> Json:
    return internal(selector, "meta/v1.LabelSelector")


def _requirement_matches(requirement: Object, labels: Object) -> bool:
    key, values = text(requirement.get("key")), items(requirement.get("values"))
    match text(requirement.get("operator")):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
