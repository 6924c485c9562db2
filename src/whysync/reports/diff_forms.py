"""`diff` as data, version 1, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from whysync.contracts.tree import Json, Missing, Object
from whysync.engine.ignored import IdleRule, IgnoredField
from whysync.reports.diff_model import AppDiff, ChangedField, ResourceDiff, State
from whysync.reports.diff_view import (
    answer,
    extra_words,
    rule_words,
    strategy_words,
    value_words,
    writer_words,
)
from whysync.reports.screen import Screen, one_line, plain
from whysync.reports.yaml_diff import TooLong, unified
from whysync.semantics.diff import FieldChange
from whysync.semantics.writers import Writer

_PLAIN = Screen(width=100)


def as_object(apps: Sequence[AppDiff]) -> Object:
    return {"version": 1, "apps": [_app(app) for app in apps]}


def _app(app: AppDiff) -> Object:
    found = app.comparison
    status = app.case.app.status
    return {
        "name": app.case.app.name,
        "namespace": app.case.app.namespace,
        "differs": app.differs,
        "problem": app.problem or app.settings_problem or None,
        "sync": str(found.sync) if found else None,
        "health": str(found.health.code) if found and found.health else None,
        "argocd": {"sync": status.sync.status, "health": status.health.status},
        "strategy": str(found.strategy) if found else None,
        "notes": list(found.notes) if found else [],
        "conditions": [{"type": one.type, "message": one.message} for one in found.conditions]
        if found
        else [],
        "resources": [_resource(one) for one in app.resources],
        "idleRules": [_idle(one) for one in app.idle_rules],
    }


def _resource(one: ResourceDiff) -> Object:
    ref, diff = one.resource.ref, one.resource.diff
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "state": str(one.state),
        "sync": str(one.resource.sync) if one.resource.sync else None,
        "argocdSync": one.argocd_sync or None,
        "disagreement": one.disagreement or None,
        "strategy": str(one.resource.strategy),
        "way": diff.way if diff else None,
        "hook": one.resource.hook,
        "requiresPruning": one.resource.requires_pruning,
        "error": one.resource.error or None,
        "changes": [_changed(field) for field in one.fields],
        "ignored": [_ignored(field) for field in one.ignored],
        "diff": "\n".join(_unified(one)) if one.state is not State.EQUAL else "",
    }


def _change(change: FieldChange) -> Object:
    """A side that has no such field has no entry."""
    sides: dict[str, Json | Missing] = {"desired": change.desired, "live": change.live}
    values: Object = {name: value for name, value in sides.items() if not isinstance(value, Missing)}
    return {"pointer": change.pointer, "path": change.path, "kind": str(change.kind), **values}


def _changed(field: ChangedField) -> Object:
    return {
        **_change(field.change),
        "standing": str(field.ownership.standing),
        "writers": [_writer(writer) for writer in field.ownership.writers],
    }


def _ignored(field: IgnoredField) -> Object:
    rule = field.rule.origin if field.rule else None
    return {**_change(field.change), "rule": rule, "selector": field.selector}


def _idle(idle: IdleRule) -> Object:
    return {"rule": idle.rule.origin, "why": idle.why, "suggestion": idle.suggestion or None}


def _writer(writer: Writer) -> Object:
    return {
        "manager": writer.manager,
        "operation": writer.operation,
        "subresource": writer.subresource,
        "time": _time(writer.time),
        "kind": str(writer.kind),
    }


def _time(instant: datetime | None) -> str | None:
    return instant.isoformat().replace("+00:00", "Z") if instant else None


def _unified(one: ResourceDiff) -> Iterator[str]:
    diff = one.resource.diff
    if diff is None or one.state is State.UNSEEN:
        return
    try:
        for mark, text in unified(diff.normalized_live, diff.predicted_live):
            yield f"@@ {text}".rstrip() if mark == "@" else f"{mark}{text}".rstrip()
    except TooLong:
        yield "(too long to show line by line)"


def as_markdown(apps: Sequence[AppDiff]) -> str:
    return "\n".join(line for app in apps for line in _page(app)).rstrip() + "\n"


def _page(app: AppDiff) -> Iterator[str]:
    yield f"# {_text(answer(app, _PLAIN))}"
    yield ""
    if app.comparison is None:
        yield _text(app.compared.next)
        yield ""
        return
    yield f"Compared by {_text(strategy_words(app))}."
    yield ""
    if app.settings_problem:
        yield f"- argocd-cm: {_text(app.settings_problem)}"
    for note in app.comparison.notes:
        yield f"- {_text(note)}"
    for condition in app.comparison.conditions:
        yield f"- **{_text(condition.type)}** {_text(condition.message)}"
    for one in app.in_state(State.ERROR):
        yield f"- cannot compare {_text(one.title)}: {_text(one.resource.error)}"
    yield ""
    for one in app.in_state(State.DIFFERS, State.MISSING, State.EXTRA):
        yield from _section(one, app)
    yield from _hidden(app)


def _section(one: ResourceDiff, app: AppDiff) -> Iterator[str]:
    yield f"## {_text(one.title)}: {one.state}"
    yield ""
    if one.state is State.EXTRA:
        yield f"{extra_words(one)}.".capitalize()
        yield ""
    if one.disagreement:
        yield f"{_text(one.disagreement)}."
        yield ""
    if one.fields:
        yield "| field | Git | live | written by |"
        yield "|---|---|---|---|"
        for field in one.fields:
            change = field.change
            values = f"`{_code(value_words(change.desired))}` | `{_code(value_words(change.live))}`"
            _, writer = writer_words(field.ownership, app.case)
            yield f"| `{_code(change.path)}` | {values} | {_text(writer)} |"
        yield ""
    yield from _fenced(list(_unified(one)))
    yield ""


def _hidden(app: AppDiff) -> Iterator[str]:
    hidden = [(one, field) for one in app.resources for field in one.ignored]
    if not hidden:
        return
    yield "## Ignored differences"
    yield ""
    for one, field in hidden:
        yield f"- {_text(one.title)} `{_code(field.change.path)}`: {_text(rule_words(field))}"
    yield ""


def _fenced(lines: list[str]) -> Iterator[str]:
    """A fence longer than any in the lines: what a cluster says cannot break out of it."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    yield f"{fence}diff"
    yield from lines
    yield fence


_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#"})


def _text(text: str) -> str:
    return one_line(text, 2_000).translate(_SPECIAL)


def _code(text: str) -> str:
    return plain(text).replace("`", "'").replace("|", "\\|")
