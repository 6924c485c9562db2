"""The alerts as Prometheus reads them: valid, and firing when they should and only then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from suites.alerts.conftest import Promtool
from whysync.alerts.catalog import alerts_of
from whysync.alerts.limits import AlertLimits, Scope
from whysync.alerts.rendering import groups
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.yaml import dump

SHOP: Mapping[str, str] = {"namespace": "argocd", "name": "shop", "project": "default"}
SCOPES = {
    "all": Scope(),
    "exported": Scope(namespace_label="exported_namespace"),
    "narrowed": Scope(namespaces=("argocd", "team.a"), projects=('odd"one',)),
    "of one app": Scope(apps=(("argocd", "shop"),)),
}
HOUR = 60


def rules(scope: Scope) -> Object:
    return groups(alerts_of(scope, AlertLimits()), scope, url="https://wiki.example.com/argocd")


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_promtool_accepts_them(promtool: Promtool, scope: Scope, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(dump(rules(scope)))
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", file)
    assert done.returncode == 0, done.stdout + done.stderr


def info(values: str, *, job: str = "argocd", **labels: str) -> Object:
    usual = {
        "autosync_enabled": "true",
        "repo": "https://git.example.com/shop",
        "dest_server": "https://kubernetes.default.svc",
        "dest_namespace": "shop",
        "sync_status": "Synced",
        "health_status": "Healthy",
        "operation": "",
    }
    return series("argocd_app_info", values, **SHOP, **{**usual, **labels}, job=job)


def series(metric: str, values: str, **labels: str) -> Object:
    written = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {"series": f"{metric}{{{written}}}", "values": values}


def synced(values: str, phase: str, dry_run: str = "false") -> Object:
    return series("argocd_app_sync_total", values, **SHOP, dest_server="x", phase=phase, dry_run=dry_run)


RECONCILED = series(
    "argocd_app_reconcile_count",
    "0+1x2000",
    namespace="argocd",
    dest_server="https://kubernetes.default.svc",
)


def test_a_runbook_is_filled_in(promtool: Promtool, tmp_path: Path) -> None:
    """With annotations: their templates must work, and name the app."""
    rule_file = rules(Scope())
    stuck = fields(items(fields(items(rule_file["groups"])[0])["rules"])[0])
    filled: Object = {
        name: str(value).replace("{{ $labels.namespace }}", "argocd").replace("{{ $labels.name }}", "shop")
        for name, value in fields(stuck["annotations"]).items()
    }
    firing: Object = {"exp_labels": {**SHOP, "severity": "warning"}, "exp_annotations": filled}
    request: Object = {"eval_time": "40m", "alertname": "ArgoCDSyncStuck", "exp_alerts": [firing]}
    check(promtool, tmp_path, rule_file, [info("1x60", operation="sync")], [request])


def check(
    promtool: Promtool,
    folder: Path,
    rule_file: Object,
    series: Sequence[Object],
    expectations: Sequence[Object],
) -> None:
    (folder / "rules.yaml").write_text(dump(rule_file))
    test: Object = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": [*series], "alert_rule_test": [*expectations]}],
    }
    (folder / "test.yaml").write_text(dump(test))
    done = promtool("test", "rules", folder / "test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def without_annotations(rule_file: Object) -> Object:
    """What is tested is when they fire; an unwritten annotation is an expected empty one."""
    group = fields(items(rule_file["groups"])[0])
    stripped: list[Json] = []
    for rule in items(group["rules"]):
        stripped.append({name: value for name, value in fields(rule).items() if name != "annotations"})
    return {"groups": [{**group, "rules": stripped}]}


FLAPPING = " ".join(["1x4 stale _x4"] * 13)
COUNTER_FLAPPING = " ".join(["_x5 1x3 stale"] * 13)
AT: dict[str, str] = {"dest_server": "https://kubernetes.default.svc"}
# alert, series, minutes at which it is quiet, minutes at which it fires, the labels that name it
SITUATIONS: dict[str, tuple[str, list[Object], list[int], list[int], Mapping[str, str]]] = {
    "a sync that does not end": (
        "ArgoCDSyncStuck", [info("1x90", operation="sync")], [10, 29], [31, 80], SHOP),
    "its health changes meanwhile": (
        "ArgoCDSyncStuck",
        [info("1x14 stale", operation="sync"), info("_x15 1x60", operation="sync", health_status="Degraded")],
        [29], [31, 60], SHOP),
    "two controllers tell of it": (
        "ArgoCDSyncStuck",
        [info("1x60", operation="sync", job=job) for job in ("one", "two")], [29], [40], SHOP),
    "a deletion that does not end": (
        "ArgoCDDeletionStuck", [info("1x90", operation="delete")], [29], [31], SHOP),
    "the first failure ever": (
        "ArgoCDSyncFailed", [synced("_x30 1x200", "Failed")], [29, 120], [31, 60], SHOP),
    "one more failure": ("ArgoCDSyncFailed", [synced("5x99 6x200", "Error")], [90, 190], [102, 150], SHOP),
    "a failed dry run": ("ArgoCDSyncFailed", [synced("_x30 1x100", "Failed", "true")], [31, 60], [], SHOP),
    "a success": ("ArgoCDSyncFailed", [synced("_x30 1x100", "Succeeded")], [31, 60], [], SHOP),
    "OutOfSync with automated sync": (
        "ArgoCDAppStaysOutOfSync", [info("1x60", sync_status="OutOfSync")], [29], [31], SHOP),
    "OutOfSync without it": (
        "ArgoCDAppWaitsForSync",
        [info("1x2000", sync_status="OutOfSync", autosync_enabled="false")],
        [60, 23 * HOUR], [25 * HOUR], SHOP),
    "that is not the same": (
        "ArgoCDAppStaysOutOfSync",
        [info("1x200", sync_status="OutOfSync", autosync_enabled="false")], [60, 180], [], SHOP),
    "Unknown": ("ArgoCDAppCannotBeCompared", [info("1x60", sync_status="Unknown")], [14], [16], SHOP),
    "Degraded": ("ArgoCDAppDegraded", [info("1x60", health_status="Degraded")], [14], [16], SHOP),
    "Degraded and better": (
        "ArgoCDAppDegraded",
        [info("1x9 stale", health_status="Degraded"), info("_x10 1x60")], [9, 30], [], SHOP),
    "Progressing": (
        "ArgoCDAppStillProgressing", [info("1x90", health_status="Progressing")], [59], [61], SHOP),
    "health by turns": (
        "ArgoCDAppHealthFlaps",
        [info(FLAPPING), info(COUNTER_FLAPPING, health_status="Degraded")], [15], [60, 100], SHOP),
    "steady health": ("ArgoCDAppHealthFlaps", [info("1x120")], [60, 100], [], SHOP),
    "sync by turns": (
        "ArgoCDAppSyncFlaps",
        [info(FLAPPING), info(COUNTER_FLAPPING, sync_status="OutOfSync")], [15], [60, 100], SHOP),
    "synced each minute": (
        "ArgoCDAppSyncedAgainAndAgain", [synced("0+1x120", "Succeeded")], [5], [60], SHOP),
    "synced each half hour": (
        "ArgoCDAppSyncedAgainAndAgain", [synced("0x30 1x30 2x30 3x30", "Succeeded")], [60, 100], [], SHOP),
    "a repository that fails": (
        "ArgoCDRepositoryFails",
        [series("argocd_git_fetch_fail_total", "0+1x60", repo="r", revision="main")], [2],
        [30], {"repo": "r"}),
    "ls-remote that fails": (
        "ArgoCDRepositoryFails",
        [series("argocd_git_lsremote_fail_total", "0+1x60", repo="r", revision="v1")], [2],
        [30], {"repo": "r"}),
    "a cluster that is lost": (
        "ArgoCDClusterUnreachable",
        [series("argocd_cluster_connection_status", "1x9 0x60", server="s", k8s_version="1.34")],
        [20], [30], {"server": "s"}),
    "all is well": ("ArgoCDDoesNotReconcile", [info("1x200"), RECONCILED], [10, 100, 190], [], AT),
    "it stops": (
        "ArgoCDDoesNotReconcile",
        [info("1x200"), {**RECONCILED, "values": "0+1x60 60x140"}], [10, 60, 100], [120], AT),
    "it never began": ("ArgoCDDoesNotReconcile", [info("1x200")], [10], [20], AT),
    "no metrics": ("ArgoCDGivesNoMetrics", [], [14], [16], {}),
    "metrics": ("ArgoCDGivesNoMetrics", [info("1x60")], [14, 30], [], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_fires_when_it_should(promtool: Promtool, name: str, tmp_path: Path) -> None:
    alert, series, quiet, firing, labels = SITUATIONS[name]
    severity = next(item.severity for item in alerts_of(Scope(), AlertLimits()) if item.name == alert)
    expected: Object = {"exp_labels": {**labels, "severity": severity}}

    def at(minute: int, alerts: list[Json]) -> Object:
        return {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": alerts}

    request = [*(at(minute, []) for minute in quiet), *(at(minute, [expected]) for minute in firing)]
    check(promtool, tmp_path, without_annotations(rules(Scope())), series, request)


def test_every_alert_is_tried() -> None:
    fired = {alert for alert, _, _, firing, _ in SITUATIONS.values() if firing}
    assert fired == {alert.name for alert in alerts_of(Scope(), AlertLimits())}
