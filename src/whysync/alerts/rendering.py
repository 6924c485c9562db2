"""The alerts as a Prometheus rule file, or as a PrometheusRule object."""

from __future__ import annotations

from whysync.alerts.catalog import Alert
from whysync.alerts.limits import Scope, duration
from whysync.alerts.runbook import runbook
from whysync.diagnosis.report import Report
from whysync.json_tree import Json, Object


def groups(alerts: tuple[Alert, ...], scope: Scope, *, url: str = "", report: Report | None = None) -> Object:
    """The content of a file for `rule_files`."""
    rules: list[Json] = [_rule(alert, scope, url, report if alert.per_app else None) for alert in alerts]
    return {"groups": [{"name": _group(scope), "rules": rules}]}


def _group(scope: Scope) -> str:
    return "-".join(("argocd", *(name for _, name in scope.apps[:1])))


def _rule(alert: Alert, scope: Scope, url: str, report: Report | None) -> Object:
    annotations: Object = {"summary": alert.summary, "description": alert.description}
    if url:
        annotations["runbook_url"] = f"{url}#{alert.name.lower()}"
    annotations["runbook"] = runbook(alert, scope, report)
    rule: Object = {"alert": alert.name, "expr": alert.expr}
    if alert.lasts:
        rule["for"] = duration(alert.lasts)
    return {**rule, "labels": {"severity": alert.severity}, "annotations": annotations}


def prometheus_rule(spec: Object, *, name: str, namespace: str) -> Object:
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": meta,
        "spec": spec,
    }
