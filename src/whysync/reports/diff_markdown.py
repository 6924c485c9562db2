"""`diff -o markdown`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.reports.app_diff import AppDiff, ResourceDiff, State
from whysync.reports.diff_text import (
    answer,
    extra_text,
    ignore_rule_text,
    strategy_text,
    unified_lines,
    value_text,
    writer_text,
)
from whysync.reports.markdown_text import BLANK, Md, code, fenced, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal

_PLAIN = Terminal(width=100)


def render(apps: Sequence[AppDiff]) -> Safe:
    return page(line for app in apps for line in _page(app))


def _page(app: AppDiff) -> Iterator[Md]:
    yield md("# {}", answer(app, _PLAIN))
    yield BLANK
    if app.comparison is None:
        yield md("{}", app.next)
        yield BLANK
        return
    yield md("Compared by {}.", strategy_text(app))
    yield BLANK
    if app.settings_problem:
        yield md("- argocd-cm: {}", app.settings_problem)
    for note in app.comparison.notes:
        yield md("- {}", note)
    for condition in app.comparison.conditions:
        yield md("- **{}** {}", condition.type, condition.message)
    for resource in app.in_state(State.ERROR):
        yield md("- cannot compare {}: {}", resource.title, resource.resource.error)
    yield BLANK
    for resource in app.in_state(State.DIFFERS, State.MISSING, State.EXTRA):
        yield from _section(resource, app)
    yield from _hidden(app)


def _section(resource: ResourceDiff, app: AppDiff) -> Iterator[Md]:
    yield md("## {}: {}", resource.title, resource.state)
    yield BLANK
    if resource.state is State.EXTRA:
        yield md("{}.", extra_text(resource).capitalize())
        yield BLANK
    if resource.disagreement:
        yield md("{}.", resource.disagreement)
        yield BLANK
    if resource.fields:
        yield row("field", "Git", "live", "written by")
        yield rule(4)
        for field in resource.fields:
            change = field.change
            writer = writer_text(field.ownership, app.case)
            values = (code(value_text(value)) for value in (change.desired, change.live))
            yield row(code(change.path), *values, writer)
        yield BLANK
    yield from fenced(list(unified_lines(resource)), "diff")
    yield BLANK


def _hidden(app: AppDiff) -> Iterator[Md]:
    hidden = [(resource, field) for resource in app.resources for field in resource.ignored]
    if not hidden:
        return
    yield md("## Ignored differences")
    yield BLANK
    for difference, field in hidden:
        yield md("- {} {}: {}", difference.title, code(field.change.path), ignore_rule_text(field))
    yield BLANK
