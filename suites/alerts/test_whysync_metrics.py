"""The rules and the dashboard for whysync's own metrics, as Prometheus reads them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from suites.alerts.conftest import Promtool
from suites.alerts.promtool import find_or_build
from tests.examples.metrics import DASHBOARD, RULES, dashboard_expressions
from tests.web.sites import site_of
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.yaml import dump, load
from whysync.web.metrics import metrics


def test_promtool_accepts_the_rules(promtool: Promtool) -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_every_expression_of_the_dashboard(promtool: Promtool, tmp_path: Path) -> None:
    expressions = [
        text.replace("$__rate_interval", "5m").replace("$__range", "7d") for text in dashboard_expressions()
    ]
    rules: list[Json] = [{"record": f"a:b{n}", "expr": text} for n, text in enumerate(expressions)]
    file = tmp_path / "dashboard.yaml"
    file.write_text(dump({"groups": [{"name": DASHBOARD.stem, "rules": rules}]}))
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def series(metric: str, values: str, **labels: str) -> Object:
    written = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {"series": f"{metric}{{{written}}}", "values": values}


UP = series("whysync_build_info", "1x3000", version="1")
FIRES: Sequence[tuple[str, str, Sequence[Object], str]] = [
    ("WhysyncDown", "nothing is scraped", [], "11m"),
    (
        "WhysyncSourceDown",
        "a source is away",
        [UP, series("whysync_source_up", "0x60", source="prod")],
        "11m",
    ),
    ("WhysyncHistoryDown", "the database is away", [UP, series("whysync_history_up", "0x60")], "6m"),
    (
        "WhysyncNotificationsNotSent",
        "unsent for a day",
        [UP, series("whysync_notifications_waiting", "2x1500")],
        "1d",
    ),
    (
        "ArgoAppsBroken",
        "a critical cause",
        [UP, series("whysync_broken_apps", "1x60", cause="webhook-down", severity="critical")],
        "16m",
    ),
    (
        "ArgoOutbreak",
        "of two instances together",
        [
            UP,
            series("whysync_broken_apps", "6x60", cause="oom", severity="warning", argocd="a"),
            series("whysync_broken_apps", "6x60", cause="oom", severity="warning", argocd="b"),
        ],
        "6m",
    ),
    (
        "WhysyncDiagnosisSlow",
        "most take longer than 10 seconds",
        [
            UP,
            series("whysync_diagnosis_duration_seconds_bucket", "0+1x90", le="10"),
            series("whysync_diagnosis_duration_seconds_bucket", "0+20x90", le="30"),
            series("whysync_diagnosis_duration_seconds_bucket", "0+20x90", le="+Inf"),
        ],
        "1h",
    ),
]
QUIET: Sequence[tuple[str, str, Sequence[Object], str]] = [
    ("WhysyncDown", "it is running", [UP], "30m"),
    ("WhysyncSourceDown", "away for a moment", [UP, series("whysync_source_up", "1x5 0x5 1x50")], "15m"),
    ("WhysyncHistoryDown", "it can be written", [UP, series("whysync_history_up", "1x60")], "30m"),
    (
        "WhysyncNotificationsNotSent",
        "sent after the quiet hours",
        [UP, series("whysync_notifications_waiting", "2x540 0x900")],
        "1d",
    ),
    (
        "ArgoAppsBroken",
        "only warnings",
        [UP, series("whysync_broken_apps", "9x60", cause="oom", severity="warning")],
        "30m",
    ),
    (
        "ArgoOutbreak",
        "two processes report the same apps",
        [
            UP,
            series("whysync_broken_apps", "6x60", cause="oom", severity="warning", instance="a"),
            series("whysync_broken_apps", "6x60", cause="oom", severity="warning", instance="b"),
        ],
        "30m",
    ),
    (
        "ArgoOutbreak",
        "different causes",
        [
            UP,
            series("whysync_broken_apps", "9x60", cause="oom"),
            series("whysync_broken_apps", "9x60", cause="x"),
        ],
        "30m",
    ),
]


def fired(promtool: Promtool, folder: Path, alert: str, inputs: Sequence[Object], at: str) -> bool:
    """Whether the alert fires: promtool is told that it does not, and objects if it does."""
    test: Object = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": list[Json](inputs),
                "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": []}],
            }
        ],
    }
    file = folder / "test.json"
    file.write_text(json.dumps(test))
    done = promtool("test", "rules", file)
    assert "yaml:" not in done.stderr, done.stderr
    if done.returncode:
        assert f"alertname: {alert}" in done.stderr, done.stderr
    return done.returncode != 0


@pytest.mark.parametrize(("alert", "_why", "inputs", "at"), FIRES, ids=lambda value: str(value)[:40])
def test_it_fires(
    promtool: Promtool, tmp_path: Path, alert: str, _why: str, inputs: Sequence[Object], at: str
) -> None:
    assert fired(promtool, tmp_path, alert, inputs, at)


@pytest.mark.parametrize(("alert", "_why", "inputs", "at"), QUIET, ids=lambda value: str(value)[:40])
def test_it_does_not_fire(
    promtool: Promtool, tmp_path: Path, alert: str, _why: str, inputs: Sequence[Object], at: str
) -> None:
    assert not fired(promtool, tmp_path, alert, inputs, at)


def test_every_alert_is_tested() -> None:
    (group,) = items(fields(load(RULES.read_text()))["groups"])
    alerts = {str(fields(rule)["alert"]) for rule in items(fields(group)["rules"])}
    assert {alert for alert, *_ in FIRES} == alerts


def test_promtool_accepts_the_metrics() -> None:
    """Names, types, units and help texts, as on `GET /metrics`."""
    site = site_of()
    done = subprocess.run(
        [find_or_build(print), "check", "metrics"],
        input=metrics(site.fleet, site.history).body,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
