"""`diff` as text: like `argocd app diff`, with the writer of each field and the ignored fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta

import msgspec

from whysync.argocd.compare.ignored_fields import IgnoredField
from whysync.argocd.diff.changes import FieldChange
from whysync.argocd.diff.options import Strategy
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Missing
from whysync.kubernetes.field_writers import Ownership, OwnershipState, Writer, phrase
from whysync.kubernetes.merge.last_applied import last_applied
from whysync.reports import output
from whysync.reports.app_diff import AppDiff, ChangedField, ResourceDiff, State
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, ago, one_line
from whysync.reports.yaml_diff import TooLong, side_by_side, unified

WIDE = 140
_LABEL = 15
_STRATEGIES = {
    Strategy.LEGACY: "three-way diff: Git, live, and last applied (two-way if that is unknown)",
    Strategy.STRUCTURED_MERGE: "structured merge, as in server-side apply",
    Strategy.SERVER_SIDE: "server-side diff: a dry run of the API server",
}
_STATE_TEXTS = {
    State.MISSING: "missing: in Git, but not in the cluster",
    State.EXTRA: "extra: in the cluster, but not in Git",
}


class DiffOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to show in addition to the differences."""

    ignored: bool = False
    managers: bool = False
    side_by_side: bool = False


def render(apps: Sequence[AppDiff], terminal: Terminal, options: DiffOptions) -> Safe:
    """The diffs; an app without differences takes one line if there are several apps."""
    out: list[str] = []
    was_long = False
    for app in apps:
        lines = list(_app(app, terminal, options, alone=len(apps) == 1))
        is_long = len(lines) > 1
        if out and (is_long or was_long):
            out.append("")
        out += lines
        was_long = is_long
    return output.text(out)


def _app(app: AppDiff, terminal: Terminal, options: DiffOptions, *, alone: bool) -> Iterator[str]:
    yield answer(app, terminal)
    if app.comparison is None:
        yield from terminal.wrap(one_line(app.next), indent=_LABEL, first="  next")
        return
    if alone or app.differs or app.failed:
        yield ""
        yield from _label("compared by", strategy_text(app), terminal)
        for note in app.comparison.notes:
            yield from _label("but", note, terminal)
    if app.settings_problem:
        yield from _label("argocd-cm", one_line(app.settings_problem, 2_000), terminal)
    for condition in app.comparison.conditions:
        yield from _label(condition.type, one_line(condition.message, 2_000), terminal)
    for resource in app.in_state(State.ERROR):
        yield from _label(
            "cannot compare", one_line(f"{resource.title}: {resource.resource.error}", 2_000), terminal
        )
    for resource in app.in_state(State.DIFFERS, State.MISSING, State.EXTRA):
        yield ""
        yield from _resource(resource, app.case, terminal, options)
    yield from _footer(app, terminal, options)


def answer(app: AppDiff, terminal: Terminal) -> str:
    """The first line of an app."""
    name = app.case.app.name
    if app.comparison is None:
        return f"{terminal.mark('unsure')} {name}   cannot be compared: {one_line(app.problem)}"
    if app.failed:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   Unknown: the comparison fails, as it would in Argo CD"
    states = [
        (len(app.in_state(State.DIFFERS)), "differs", "differ"),
        (len(app.in_state(State.MISSING)), "is missing", "are missing"),
        (len(app.in_state(State.EXTRA)), "is extra", "are extra"),
    ]
    counts = ", ".join(
        f"{count} {singular if count == 1 else plural}" for count, singular, plural in states if count
    )
    total = len(app.resources)
    if counts:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   {counts}, of {total} {'resource' if total == 1 else 'resources'}"
    if app.differs:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   OutOfSync: managedNamespaceMetadata changed since the last sync"
    mark = terminal.paint(terminal.mark("good"), "green")
    unavailable = len(app.in_state(State.NOT_PROVIDED))
    note = f"; {unavailable} more cannot be compared: one side is not in the facts" if unavailable else ""
    compared = total - unavailable
    return f"{mark} {name}   no difference in {compared} {'resource' if compared == 1 else 'resources'}{note}"


def strategy_text(app: AppDiff) -> str:
    assert app.comparison is not None
    text = _STRATEGIES[app.comparison.strategy]
    strategies = {resource.resource.strategy for resource in app.resources if resource.state is State.DIFFERS}
    if app.comparison.strategy is Strategy.LEGACY and Strategy.STRUCTURED_MERGE in strategies:
        text += "; structured merge for resources with ServerSideApply=true"
    return text


def _label(label: str, text: str, terminal: Terminal) -> list[str]:
    return terminal.wrap(text, indent=max(_LABEL, len(label) + 4), first=f"  {label}")


def _resource(resource: ResourceDiff, case: Case, terminal: Terminal, options: DiffOptions) -> Iterator[str]:
    yield terminal.paint(f"===== {resource.title} ======", "bold")
    if resource.state in _STATE_TEXTS:
        text = _STATE_TEXTS[resource.state]
        if resource.state is State.EXTRA:
            text += f" ({extra_text(resource)})"
        yield f"  {text}"
    for changed_field in resource.fields:
        yield from _field(changed_field, case, terminal, options)
    if options.ignored:
        for field in resource.ignored:
            yield from _ignored(field, terminal)
    if resource.disagreement:
        yield from terminal.wrap(f"{resource.disagreement}: {reason_for(resource, case)}", indent=2)
    yield from _yaml(resource, terminal, options)


def extra_text(resource: ResourceDiff) -> str:
    if resource.resource.requires_deletion_confirmation:
        return "a sync with --prune asks for confirmation, then deletes it"
    return "a sync with --prune deletes it"


def _field(
    changed_field: ChangedField, case: Case, terminal: Terminal, options: DiffOptions
) -> Iterator[str]:
    yield from _values(changed_field.change, terminal)
    text = writer_text(changed_field.ownership, case)
    yield from terminal.wrap(text, indent=_LABEL + 4, first="    written by")
    if options.managers:
        for writer in (*changed_field.ownership.writers[1:], *changed_field.ownership.around[1:]):
            yield from terminal.wrap(_writer(writer, case), indent=_LABEL + 4, first="    also")


def _values(change: FieldChange, terminal: Terminal) -> list[str]:
    """Both values, on one line if they fit."""
    git, live = value_text(change.desired), value_text(change.live)
    arrow = terminal.mark("arrow")
    path = change.path
    line = f"  {terminal.paint(path, 'cyan')}   Git {git} {arrow} live {live}"
    if len(path) + len(git) + len(live) + 16 <= terminal.width:
        return [line]
    return [
        f"  {terminal.paint(path, 'cyan')}",
        *terminal.wrap(git, indent=_LABEL + 4, first="    Git"),
        *terminal.wrap(live, indent=_LABEL + 4, first="    live"),
    ]


def value_text(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "(not set)"
    return one_line(json.dumps(value, ensure_ascii=False), 300)


def writer_text(ownership: Ownership, case: Case) -> str:
    """Who wrote the live value."""
    match ownership.standing:
        case OwnershipState.OWNED:
            return _writer(ownership.writers[0], case)
        case OwnershipState.NOBODY:
            return "no manager: a default of the API server, or of the CRD"
        case OwnershipState.ABSENT:
            parent = (
                f"; its parent is owned by {_writer(ownership.around[0], case)}" if ownership.around else ""
            )
            return f"nobody: the live object does not have the field{parent}"
        case OwnershipState.NO_RECORD:
            return "unknown: the live object has no managedFields"


def _writer(writer: Writer, case: Case) -> str:
    age: timedelta | None = None
    if writer.time is not None and writer.time.tzinfo is not None:
        age = case.age(writer.time)
    when = f", {ago(age)}" if age is not None else ""
    return one_line(f"{phrase(writer)}{when}")


def _ignored(field: IgnoredField, terminal: Terminal) -> Iterator[str]:
    yield from _values(field.change, terminal)
    yield from terminal.wrap(ignore_rule_text(field), indent=_LABEL + 4, first="    ignored by")


def ignore_rule_text(field: IgnoredField) -> str:
    if field.rule is None:
        return "the ignore rules together"
    return one_line(f"{field.rule.origin}: {field.selector}")


def reason_for(resource: ResourceDiff, case: Case) -> str:
    """Why Argo CD may report another sync status for the resource."""
    drifts = [drift for drift in case.drifts if drift.ref.key == resource.resource.key]
    if resource.ignored:
        return f"ignore rules hide {resource.ignored[0].change.path}, and Argo CD may not use them yet"
    if resource.state is State.EQUAL and drifts:
        pointers = ", ".join(drift.pointer for drift in drifts[:3])
        more = f" and {len(drifts) - 3} more" if len(drifts) > 3 else ""
        if not all(drift.only_live for drift in drifts):
            return f"the values differ at {pointers}{more}, but are equal to Kubernetes"
        unknown = ", and the last applied configuration is unknown" if _lacks_last_applied(resource) else ""
        return f"only the live object has {pointers}{more}{unknown}"
    compared = case.app.status.reconciled_at
    if compared is not None and (age := case.age(compared)) is not None and age > timedelta(minutes=5):
        return f"it last compared {ago(age)}, these facts are newer"
    return "it compared at another time, or uses something that is not in the facts"


def _lacks_last_applied(resource: ResourceDiff) -> bool:
    """Without the last applied configuration, a field removed from Git is not detected."""
    live = resource.resource.live
    return resource.resource.strategy is Strategy.LEGACY and live is not None and last_applied(live) is None


def _yaml(resource: ResourceDiff, terminal: Terminal, options: DiffOptions) -> Iterator[str]:
    diff = resource.resource.diff
    if diff is None:
        return
    try:
        if options.side_by_side:
            yield from _side_by_side(resource, terminal)
            return
        yield terminal.paint("--- live", "red")
        yield terminal.paint("+++ after a sync", "green")
        for mark, text in unified(diff.normalized_live, diff.predicted_live):
            yield _line(mark, text, terminal)
    except TooLong:
        yield "  (too long to show line by line)"


def unified_lines(resource: ResourceDiff) -> Iterator[str]:
    diff = resource.resource.diff
    if diff is None or resource.state is State.NOT_PROVIDED:
        return
    try:
        for mark, text in unified(diff.normalized_live, diff.predicted_live):
            yield f"@@ {text}".rstrip() if mark == "@" else f"{mark}{text}".rstrip()
    except TooLong:
        yield "(too long to show line by line)"


def _line(mark: str, text: str, terminal: Terminal) -> str:
    match mark:
        case "-":
            return terminal.paint(f"-{text}", "red")
        case "+":
            return terminal.paint(f"+{text}", "green")
        case "@":
            return terminal.paint(f"@@ {text}".rstrip(), "cyan")
        case _:
            return f" {text}".rstrip()


def _side_by_side(resource: ResourceDiff, terminal: Terminal) -> Iterator[str]:
    diff = resource.resource.diff
    assert diff is not None
    half = max((terminal.width - 3) // 2, 20)
    yield f"{terminal.paint('live'.ljust(half), 'red')}   {terminal.paint('after a sync', 'green')}"
    for live, mark, predicted in side_by_side(diff.normalized_live, diff.predicted_live):
        if mark == "@":
            yield terminal.paint(f"@@ {predicted}".rstrip(), "cyan")
            continue
        left, right = _cut(live, half), _cut(predicted, half)
        if mark in "<|":
            left = terminal.paint(left.ljust(half), "red")
        if mark in ">|":
            right = terminal.paint(right, "green")
        yield f"{left.ljust(half)} {mark} {right}".rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _footer(app: AppDiff, terminal: Terminal, options: DiffOptions) -> Iterator[str]:
    """Ignored fields, resources for which Argo CD reports another status, and missing facts."""
    lines: list[str] = []
    hidden = [(resource, field) for resource in app.resources for field in resource.ignored]
    if options.ignored:
        for resource in app.resources:
            if resource.state is State.EQUAL and resource.ignored:
                lines += ["", terminal.paint(f"===== {resource.title} ======", "bold")]
                lines.append("  equal except for ignored fields")
                for field in resource.ignored:
                    lines += _ignored(field, terminal)
        lines += _idle_rules(app, terminal)
    elif hidden:
        fields = f"{len(hidden)} {'field' if len(hidden) == 1 else 'fields'}"
        lines += [
            "",
            *_label("ignored", f"{fields} hidden by ignore rules: see --show-ignored", terminal),
        ]
    for resource in app.in_state(State.EQUAL):
        if resource.disagreement:
            text = f"{resource.title}: {resource.disagreement}: {reason_for(resource, app.case)}"
            lines += ["", *_label("but", text, terminal)]
    unavailable = app.in_state(State.NOT_PROVIDED)
    for side, attribute in (("live object", "live"), ("rendered manifest", "target")):
        names = [str(diff.resource.ref) for diff in unavailable if getattr(diff.resource, attribute) is None]
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            text = f"{', '.join(names[:5])}{more}: the {side} is not in the facts, but Argo CD has it"
            lines += ["", *_label("not provided", text, terminal)]
    yield from lines


def _idle_rules(app: AppDiff, terminal: Terminal) -> Iterator[str]:
    if not app.idle_rules:
        return
    yield ""
    yield "  ignore rules without effect"
    for idle in app.idle_rules:
        about = f" ({idle.about.ref})" if idle.about else ""
        suggestion = f"; write {idle.suggestion}" if idle.suggestion else ""
        text = f"{idle.why}{about}{suggestion}"
        origin = idle.rule.origin
        yield from terminal.wrap(one_line(text), indent=len(origin) + 7, first=f"    {origin}")
