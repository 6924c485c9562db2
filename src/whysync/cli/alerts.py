"""`whysync alerts`: Prometheus rules for Argo CD, with runbooks; of one app, with what is known of it."""

from __future__ import annotations

import argparse
import re

from whysync.alerts.catalog import Alert, alerts_of
from whysync.alerts.limits import AlertLimits, Scope
from whysync.alerts.rendering import groups, prometheus_rule
from whysync.alerts.runbook import page
from whysync.cli.exits import Exit
from whysync.diagnosis.report import Report
from whysync.errors import UsageError
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.output import out


def alerts(options: argparse.Namespace) -> int:
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
    from whysync.cli.filters import facts

    cases = app.cases(facts(options), options.apps)
    return app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)


def _limits(options: argparse.Namespace) -> AlertLimits:
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
