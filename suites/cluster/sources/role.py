"""The smallest ClusterRole, as docs/live.md shows it."""

from __future__ import annotations

import re
from pathlib import Path

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml

_PAGE = Path(__file__).parents[3] / "docs" / "live.md"
_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def documented_rules() -> list[Json]:
    """The rules of the first ClusterRole on the page."""
    for block in _BLOCK.findall(_PAGE.read_text(encoding="utf-8")):
        for document in yaml.documents(str(block)):
            if isinstance(document, yaml.Document) and fields(document.body).get("kind") == "ClusterRole":
                return items(fields(document.body).get("rules"))
    raise AssertionError(f"{_PAGE.name} shows no ClusterRole")


def permissions(rules: list[Json]) -> list[tuple[str, str]]:
    """Each API group and resource that the rules name."""
    return [
        (text(group), text(resource))
        for rule in rules
        for group in items(fields(rule).get("apiGroups"))
        for resource in items(fields(rule).get("resources"))
    ]


def without(rules: list[Json], group: str, resource: str) -> list[Json]:
    """The same rules, less one resource."""
    left: list[Json] = []
    for rule in rules:
        body: Object = {**fields(rule)}
        if group in items(body.get("apiGroups")):
            body["resources"] = [item for item in items(body.get("resources")) if item != resource]
        if items(body.get("resources")):
            left.append(body)
    return left
