"""Label selectors."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text


def selects(selector: Json, labels: Object) -> bool:
    """Does the selector match? An empty one, or none, matches everything."""
    rules = fields(selector)
    if any(labels.get(key) != value for key, value in fields(rules.get("matchLabels")).items()):
        return False
    return all(_holds(fields(rule), labels) for rule in items(rules.get("matchExpressions")))


def _holds(rule: Object, labels: Object) -> bool:
    key, values = text(rule.get("key")), items(rule.get("values"))
    match rule.get("operator"):
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
