"""Label selectors."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text


def selects(selector: Json, labels: Object) -> bool:
    """Does the selector match? An empty one, or none, matches everything."""
    selector_fields = fields(selector)
    if any(labels.get(key) != value for key, value in fields(selector_fields.get("matchLabels")).items()):
        return False
    return all(
        _requirement_matches(fields(requirement), labels)
        for requirement in items(selector_fields.get("matchExpressions"))
    )


def _requirement_matches(requirement: Object, labels: Object) -> bool:
    key, values = text(requirement.get("key")), items(requirement.get("values"))
    match requirement.get("operator"):
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
