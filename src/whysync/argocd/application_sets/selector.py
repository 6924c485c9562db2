"""Label selectors of generators. Mirrors `LabelSelectorAsSelector` of applicationset/utils, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Mapping

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.json_tree import Object, fields, items, text


def matches(selector: Object, labels: Mapping[str, str]) -> bool:
    """An empty selector matches everything. Values may be any text, such as URLs."""
    for key, value in fields(selector.get("matchLabels")).items():
        if labels.get(key) != text(value):
            return False
    return all(_fits(fields(expression), labels) for expression in items(selector.get("matchExpressions")))


def _fits(expression: Object, labels: Mapping[str, str]) -> bool:
    key, operator = text(expression.get("key")), text(expression.get("operator"))
    values = [text(value) for value in items(expression.get("values"))]
    match operator:
        case "In":
            return labels.get(key) in values if key in labels else False
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            raise NotExpanded(f'Argo CD reports: "{operator}" is not a valid pod selector operator')
