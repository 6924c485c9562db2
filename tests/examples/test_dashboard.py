"""The Grafana dashboard: what Grafana needs to import it."""

from __future__ import annotations

import re

import msgspec

from tests.examples.metrics import DASHBOARD, dashboard_expressions, metrics_in, rule_expressions
from tests.web.sites import NOW
from whysync.history.history import History
from whysync.json_tree import Object, fields, items, text
from whysync.watch.fleet import Fleet
from whysync.web.metrics import metrics

BOARD: Object = fields(msgspec.json.decode(DASHBOARD.read_bytes()))
PANELS = [fields(panel) for panel in items(BOARD["panels"])]
WIDTH = 24


def test_panels_have_a_title_a_query_and_an_id_of_their_own() -> None:
    assert len({str(panel["id"]) for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["title"]
        for target in map(fields, items(panel["targets"])):
            assert text(target["expr"])
            assert fields(target["datasource"])["uid"] == "${datasource}"


def test_panels_are_within_the_grid_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        grid = fields(panel["gridPos"])
        x, y, width, height = (int(str(grid[name])) for name in ("x", "y", "w", "h"))
        assert x + width <= WIDTH
        cells = {(column, line) for column in range(x, x + width) for line in range(y, y + height)}
        assert not cells & taken
        taken |= cells


def test_the_data_source_is_chosen_by_the_reader() -> None:
    variables = {text(fields(variable)["name"]) for variable in items(fields(BOARD["templating"])["list"])}
    assert "datasource" in variables


def test_every_metric_is_one_that_whysync_exports() -> None:
    exported = metrics(Fleet(lambda: NOW), History.open(":memory:")).body.decode()
    names = set(re.findall("^# TYPE ([a-z_]+) ", exported, re.MULTILINE))
    assert metrics_in([*dashboard_expressions(), *rule_expressions()]) <= names


def test_every_expression_uses_metrics_of_whysync() -> None:
    for expression in (*dashboard_expressions(), *rule_expressions()):
        assert metrics_in([expression]), expression
