"""`whysync alerts`: Prometheus rules for Argo CD, with runbooks; of one app, with what is known of it."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append, seconds
from whysync.cli.output_flags import add_output_flag
from whysync.cli.source_flags import add_source_flags
from whysync.errors import UsageError
from whysync.reports.output import out

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.alerts.catalog import Alert
    from whysync.alerts.limits import AlertLimits
    from whysync.diagnosis.report import Report

_TIMES = (
    ("stuck", "30m", "a sync or a deletion that does not end"),
    ("out-of-sync", "30m", "OutOfSync with automated sync"),
    ("waiting", "1d", "OutOfSync without it"),
    ("degraded", "15m", "Degraded or Missing"),
    ("progressing", "1h", "Progressing"),
    ("unknown", "15m", "what Argo CD cannot compare or reach"),
    ("silent", "30m", "nothing was compared"),
    ("window", "1h", "in which failures and changes are counted"),
)
_COUNTS = (
    ("flaps", 8, "changes of status within the window"),
    ("syncs", 10, "syncs that succeed within it"),
    ("failures", 0, "syncs that fail within it"),
    ("repo-failures", 3, "requests to a repository that fail within it"),
)


def add_flags(verb: argparse.ArgumentParser) -> None:
    add_output_flag(
        verb,
        ("yaml", "json", "prometheusrule", "markdown"),
        help="a file of rules, the operator's object, or the runbooks on one page",
    )
    verb.add_argument("--alert", metavar="NAME", action=Append, default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--skip", metavar="NAME", action=Append, default=[], help="all but this one (repeatable)"
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
        help="of this app, with a runbook written from its facts",
    )
    verb.add_argument("--no-proof", action="store_true", help="with --for-app: do not simulate the fixes")
    verb.add_argument(
        "--namespace-label",
        metavar="LABEL",
        default="namespace",
        help="exported_namespace where the scraper does not honour labels",
    )
    verb.add_argument("--runbook-url", metavar="URL", default="", help="where the page of -o markdown is")
    verb.add_argument("--rule-name", metavar="NAME", default="argocd", help="of the PrometheusRule (argocd)")
    verb.add_argument("--rule-namespace", metavar="NS", default="", help="of the PrometheusRule")
    limits = verb.add_argument_group("how long, and how often")
    for name, usual, help in _TIMES:
        limits.add_argument(f"--{name}", metavar="TIME", type=seconds, help=f"{help} ({usual})")
    for name, count, help in _COUNTS:
        limits.add_argument(f"--{name}", metavar="N", type=_number, help=f"more {help} ({count})")
    add_source_flags(verb)
    verb.epilog = (
        "whysync alerts > argocd.rules.yaml; promtool check rules argocd.rules.yaml\n"
        "whysync alerts -o prometheusrule --rule-namespace monitoring | kubectl apply -f -"
    )


def _number(written: str) -> int:
    if not written.isdecimal() or len(written) > 6:
        raise argparse.ArgumentTypeError(f"{written!r} is no such number")
    return int(written)


def run(options: argparse.Namespace) -> int:
    from whysync.alerts.catalog import alerts_of
    from whysync.alerts.limits import Scope
    from whysync.alerts.rendering import groups, prometheus_rule
    from whysync.alerts.runbook import page
    from whysync.reports.json_yaml import as_json, as_yaml

    known = _known(options)
    scope = Scope(
        namespaces=tuple(options.namespace or ()),
        projects=tuple(options.project or ()),
        apps=tuple((app.case.app.namespace, app.case.app.name) for app in known.apps) if known else (),
        namespace_label=_label(options.namespace_label),
    )
    chosen = _chosen(alerts_of(scope, _limits(options)), options)
    if options.output == "markdown":
        out().put(page(chosen, scope, known))
        return Exit.OK
    made = groups(chosen, scope, url=options.runbook_url, known=known)
    if options.output == "prometheusrule":
        made = prometheus_rule(made, name=options.rule_name, namespace=options.rule_namespace)
    out().put(as_json(made) if options.output == "json" else as_yaml(made))
    return Exit.OK


def _known(options: argparse.Namespace) -> Report | None:
    """Facts are read only where an app is named."""
    if not options.apps:
        return None
    from whysync import app
    from whysync.cli.sources import facts

    cases = app.cases(facts(options), options.apps)
    return app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)


def _limits(options: argparse.Namespace) -> AlertLimits:
    from whysync.alerts.limits import AlertLimits

    told = {name: getattr(options, name) for name in AlertLimits.__struct_fields__}
    return AlertLimits(**{name: value for name, value in told.items() if value is not None})


def _label(written: str) -> str:
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", written):
        raise UsageError(what=f"{written!r} is no name of a label", next="correct --namespace-label")
    return written


def _chosen(every: tuple[Alert, ...], options: argparse.Namespace) -> tuple[Alert, ...]:
    names = [alert.name for alert in every]
    for wanted in (*options.alert, *options.skip):
        if wanted not in names:
            raise UsageError(what=f"there is no alert {wanted!r}", why=f"there are {', '.join(names)}")
    return tuple(
        alert
        for alert in every
        if (not options.alert or alert.name in options.alert) and alert.name not in options.skip
    )
