"""`whysync alerts`: Prometheus rules for Argo CD with runbooks, also for single apps."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append, collapsed_group, seconds
from whysync.cli.output_flags import add_output_flag
from whysync.cli.source_flags import add_source_flags, same_source_flags
from whysync.errors import UsageError
from whysync.reports.output import out

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.alerts.catalog import Alert
    from whysync.alerts.limits import AlertLimits
    from whysync.diagnosis.report import Report

_TIMES = (
    ("stuck", "30m", "alert on a sync or deletion that runs for this long"),
    ("out-of-sync", "30m", "alert on OutOfSync with automated sync for this long"),
    ("waiting", "1d", "alert on OutOfSync without automated sync for this long"),
    ("degraded", "15m", "alert on Degraded or Missing for this long"),
    ("progressing", "1h", "alert on Progressing for this long"),
    ("unknown", "15m", "alert on apps that cannot be compared for this long"),
    ("silent", "30m", "alert if no app was reconciled for this long"),
    ("window", "1h", "window for the counts below"),
)
_COUNTS = (
    ("flaps", 8, "status changes in the window"),
    ("syncs", 10, "successful syncs in the window"),
    ("failures", 0, "failed syncs in the window"),
    ("repo-failures", 3, "failed repository requests in the window"),
)


def add_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(
        verb,
        ("yaml", "json", "prometheusrule", "markdown"),
        help="rule file, PrometheusRule, or a page with all runbooks",
    )
    verb.add_argument(
        "--alert", metavar="NAME", action=Append, default=[], help="only this alert (repeatable)"
    )
    verb.add_argument(
        "--skip", metavar="NAME", action=Append, default=[], help="without this alert (repeatable)"
    )
    verb.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        action=Append,
        help="only Applications of this namespace (repeatable)",
    )
    verb.add_argument(
        "--project", metavar="NAME", action=Append, help="only Applications of this project (repeatable)"
    )
    verb.add_argument(
        "--for-app",
        dest="apps",
        metavar="APP",
        action=Append,
        default=[],
        help="alerts for this app, with a runbook from its facts (repeatable)",
    )
    verb.add_argument("--no-proof", action="store_true", help="do not simulate fixes for --for-app")
    verb.add_argument(
        "--namespace-label",
        metavar="LABEL",
        default="namespace",
        help="label with the namespace of an app (exported_namespace unless honorLabels is set)",
    )
    verb.add_argument("--runbook-url", metavar="URL", default="", help="URL of the page from -o markdown")
    verb.add_argument(
        "--rule-name", metavar="NAME", default="argocd", help="name of the PrometheusRule (default argocd)"
    )
    verb.add_argument("--rule-namespace", metavar="NS", default="", help="namespace of the PrometheusRule")
    limits = collapsed_group(verb, "thresholds")
    for name, default, help in _TIMES:
        limits.add_argument(f"--{name}", metavar="TIME", type=seconds, help=f"{help} (default {default})")
    for name, count, help in _COUNTS:
        limits.add_argument(
            f"--{name}", metavar="N", type=_number, help=f"alert on more {help} (default {count})"
        )
    add_source_flags(verb)
    verb.epilog = (
        "whysync alerts > argocd.rules.yaml; promtool check rules argocd.rules.yaml\n"
        "whysync alerts -o prometheusrule --rule-namespace monitoring | kubectl apply -f -"
    )


def _number(value: str) -> int:
    if not value.isdecimal() or len(value) > 6:
        raise argparse.ArgumentTypeError(f"invalid number {value!r}; it must be 0 to 999999")
    return int(value)


def run(options: argparse.Namespace) -> int:
    from whysync.alerts.catalog import alerts_of
    from whysync.alerts.limits import Scope
    from whysync.alerts.rendering import groups, prometheus_rule
    from whysync.alerts.runbook import page
    from whysync.reports.json_yaml import as_json, as_yaml

    report = _report(options)
    scope = Scope(
        namespaces=tuple(options.namespace or ()),
        projects=tuple(options.project or ()),
        apps=tuple((app.case.app.namespace, app.case.app.name) for app in report.apps) if report else (),
        namespace_label=_label(options.namespace_label),
    )
    alerts = _chosen(alerts_of(scope, _limits(options)), options)
    if options.output == "markdown":
        out().put(page(alerts, scope, report))
        return Exit.OK
    rules = groups(alerts, scope, url=options.runbook_url, report=report)
    if options.output == "prometheusrule":
        rules = prometheus_rule(rules, name=options.rule_name, namespace=options.rule_namespace)
    out().put(as_json(rules) if options.output == "json" else as_yaml(rules))
    return Exit.OK


def _report(options: argparse.Namespace) -> Report | None:
    """The diagnosis of the apps in `--for-app`; without them no facts are read."""
    if not options.apps:
        if same_source_flags(options) != "":
            raise UsageError(
                what="the flags for the source of the facts need --for-app",
                why="without it, the alerts are the same for every Argo CD, and no facts are read",
                next="add --for-app APP, or leave these flags out",
            )
        return None
    from whysync import app
    from whysync.cli.sources import facts

    cases = app.cases(facts(options), options.apps)
    return app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)


def _limits(options: argparse.Namespace) -> AlertLimits:
    from whysync.alerts.limits import AlertLimits

    values = {name: getattr(options, name) for name in AlertLimits.__struct_fields__}
    return AlertLimits(**{name: value for name, value in values.items() if value is not None})


def _label(value: str) -> str:
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", value):
        raise UsageError(what=f"invalid label name {value!r}", next="correct --namespace-label")
    return value


def _chosen(alerts: tuple[Alert, ...], options: argparse.Namespace) -> tuple[Alert, ...]:
    names = [alert.name for alert in alerts]
    for name in (*options.alert, *options.skip):
        if name not in names:
            raise UsageError(what=f"unknown alert {name!r}", why=f"it must be one of {', '.join(names)}")
    return tuple(
        alert
        for alert in alerts
        if (not options.alert or alert.name in options.alert) and alert.name not in options.skip
    )
