"""The runbook of an alert: the command that finds the cause, the likely causes, what not to do.

It is an annotation, which Prometheus evaluates as a template: text from a cluster must not look like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from shlex import quote

from whysync.alerts.catalog import APP, Alert
from whysync.alerts.limits import Scope
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.rule import AnyRule, diagnosis_rules
from whysync.queries.advice import advice_for
from whysync.reports import diagnose_markdown
from whysync.reports.diagnose_text import answer_of, state_of
from whysync.reports.markdown_text import BLANK, Md, code, fenced, md
from whysync.reports.markdown_text import page as markdown_page
from whysync.reports.output import Safe

LONGEST = 6_000
"""Maximum length of the runbook of one app: receivers truncate or refuse longer texts."""
_VARIABLES = (
    ("{{ $value | humanize }}", "Several"),
    ("{{ $labels.repo }}", "the repository"),
    ("{{ $value }}", "several"),
    ("{{ $labels.server }}", "the cluster"),
    ("{{ $labels.dest_server }}", "the cluster"),
)
"""Template expressions of the descriptions, and what a page shows instead."""
_ALL = {
    "ArgoCDRepositoryFails": "whysync list --sync Unknown",
    "ArgoCDClusterUnreachable": "whysync list --sync Unknown",
    "ArgoCDDoesNotReconcile": "whysync list --sort since",
    "ArgoCDGivesNoMetrics": "whysync list --core",
}


def runbook(alert: Alert, scope: Scope, report: Report | None = None) -> str:
    """The general runbook; with facts about one app, also its diagnosis."""
    lines = ["Find the cause:", f"  {_command(alert, scope)}", ""]
    lines += [
        "Likely causes:",
        *(f"  - {rule.title} (whysync explain {rule.id})" for rule in likely(alert)),
        "",
    ]
    lines += _meanwhile(alert)
    if report is not None:
        lines += ["", *_of_app(report)]
    return "\n".join(lines)


def likely(alert: Alert) -> tuple[AnyRule, ...]:
    return tuple(_rules()[id] for id in alert.causes)


@cache
def _rules() -> dict[str, AnyRule]:
    return {rule.id: rule for rule in diagnosis_rules()}


def _command(alert: Alert, scope: Scope) -> str:
    if not alert.per_app:
        return _ALL[alert.name]
    if len(scope.apps) == 1:
        namespace, name = scope.apps[0]
        return untemplated(f"whysync diagnose {quote(f'{namespace}/{name}' if namespace else name)}")
    return f"whysync diagnose {APP % scope.namespace_label}"


def _meanwhile(alert: Alert) -> Iterator[str]:
    """What not to do for the most likely cause; a longer list would not be read."""
    first = likely(alert)[0]
    yield f"Meanwhile: {advice_for(first.cause, first.side).dont}"


def _of_app(report: Report) -> Iterator[str]:
    for app in report.apps:
        yield f"When this was written{_when(app)}, whysync reported for {app.case.qualified_name}:"
        yield ""
        page = untemplated(diagnose_markdown.render(Report(apps=(app,), groups=())))
        if len(page) > LONGEST:
            excerpt = page[: page.rfind("\n", 0, LONGEST)]
            page = f"{excerpt}\n(cut here: whysync diagnose {app.case.qualified_name} -o markdown shows all)"
        yield page.rstrip()


def _when(app: AppReport) -> str:
    at = app.case.index.snapshot.collected_at
    return f" ({at:%Y-%m-%d %H:%M} UTC)" if at else ""


def untemplated(text: str) -> str:
    """Escape text so that a template prints it literally."""
    return text.replace("{{", '{{ "{{" }}') if "{{" in text else text


def page(alerts: tuple[Alert, ...], scope: Scope, report: Report | None = None) -> Safe:
    """All runbooks on one page, for `runbook_url`."""
    return markdown_page(_page(alerts, scope, report))


def _page(alerts: tuple[Alert, ...], scope: Scope, report: Report | None) -> Iterator[Md]:
    yield md("# Argo CD alerts: what to do")
    for alert in alerts:
        yield from (
            BLANK,
            md("## {}", alert.name),
            BLANK,
            md("{}", _readable(alert.description, scope)),
            BLANK,
        )
        yield from fenced([_readable(_command(alert, scope), scope)], "sh")
        yield from (BLANK, md("Likely causes:"), BLANK)
        for rule in likely(alert):
            yield md("- {}: {}", rule.title, code(f"whysync explain {rule.id}"))
        yield BLANK
        yield from map(Md, _meanwhile(alert))  # Markdown of whysync itself
    for app in report.apps if report else ():
        yield from (BLANK, md("## {} now", app.case.qualified_name), BLANK)
        yield from (md("{}: {}.", state_of(app), answer_of(app)), BLANK)
        for line in diagnose_markdown.lines_of(Report(apps=(app,), groups=())):
            yield Md(f"##{line}") if line.startswith("#") else line


def _readable(template: str, scope: Scope) -> str:
    """A template as readable text."""
    for variable, readable in ((APP % scope.namespace_label, "NAMESPACE/APP"), *_VARIABLES):
        template = template.replace(variable, readable)
    return template
