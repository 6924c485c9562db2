"""The rules and the dashboard for whysync's own metrics, and the expressions in them."""

from __future__ import annotations

import re

import msgspec

from tests.situations import ROOT
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api import yaml

RULES = ROOT / "docs/examples/whysync-prometheus-rules.yaml"
DASHBOARD = ROOT / "docs/examples/whysync-grafana-dashboard.json"
_NAME = re.compile(r"\bwhysync_[a-z_]+")
_OF_HISTOGRAM = re.compile("_(bucket|sum|count)$")


def rule_expressions() -> list[str]:
    groups = items(fields(yaml.load(RULES.read_text()))["groups"])
    return [text(fields(rule)["expr"]) for group in groups for rule in items(fields(group)["rules"])]


def dashboard_expressions() -> list[str]:
    dashboard = fields(msgspec.json.decode(DASHBOARD.read_bytes()))
    panels = map(fields, items(dashboard["panels"]))
    return [text(fields(target)["expr"]) for panel in panels for target in items(panel["targets"])]


def metrics_in(expressions: list[str]) -> set[str]:
    """The names of metric families."""
    return {_OF_HISTOGRAM.sub("", name) for text in expressions for name in _NAME.findall(text)}
