"""`diff` as text: like `argocd app diff`, with who wrote each field and what is ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta

import msgspec

from whysync.argocd.compare.ignored_fields import IgnoredField
from whysync.argocd.diff.changes import FieldChange
from whysync.argocd.diff.strategy import Strategy
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
    Strategy.LEGACY: "three-way: Git, live, and what was applied last (two-way where that is unknown)",
    Strategy.STRUCTURED_MERGE: "structured merge: as server-side apply would merge it",
    Strategy.SERVER_SIDE: "server-side diff: a dry run of the API server",
}
_WORDS = {
    State.MISSING: "missing: Git has it, the cluster does not",
    State.EXTRA: "extra: the cluster has it, Git does not",
}


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for beside the differences."""

    ignored: bool = False
    managers: bool = False
    side_by_side: bool = False


def render(apps: Sequence[AppDiff], terminal: Terminal, shown: Shown) -> Safe:
    """An app of many of which nothing is to be said takes one line."""
    out: list[str] = []
    was_long = False
    for app in apps:
        lines = list(_app(app, terminal, shown, alone=len(apps) == 1))
        is_long = len(lines) > 1
        if out and (is_long or was_long):
            out.append("")
        out += lines
        was_long = is_long
    return output.text(out)


def _app(app: AppDiff, terminal: Terminal, shown: Shown, *, alone: bool) -> Iterator[str]:
    yield answer(app, terminal)
    if app.comparison is None:
        yield from terminal.wrap(one_line(app.next), indent=_LABEL, first="  next")
        return
    if alone or app.differs or app.failed:
        yield ""
        yield from _label("compared by", strategy_words(app), terminal)
        for note in app.comparison.notes:
            yield from _label("but", note, terminal)
    if app.settings_problem:
        yield from _label("argocd-cm", one_line(app.settings_problem, 2_000), terminal)
    for condition in app.comparison.conditions:
        yield from _label(condition.type, one_line(condition.message, 2_000), terminal)
    for one in app.in_state(State.ERROR):
        yield from _label("cannot compare", one_line(f"{one.title}: {one.resource.error}", 2_000), terminal)
    for one in app.in_state(State.DIFFERS, State.MISSING, State.EXTRA):
        yield ""
        yield from _resource(one, app.case, terminal, shown)
    yield from _below(app, terminal, shown)


def answer(app: AppDiff, terminal: Terminal) -> str:
    """The first line."""
    name = app.case.app.name
    if app.comparison is None:
        return f"{terminal.mark('unsure')} {name}   cannot be compared: {one_line(app.problem)}"
    if app.failed:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   Unknown: the comparison fails, as it would in Argo CD"
    counted = [
        (len(app.in_state(State.DIFFERS)), "differs", "differ"),
        (len(app.in_state(State.MISSING)), "is missing", "are missing"),
        (len(app.in_state(State.EXTRA)), "is extra", "are extra"),
    ]
    told = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counted if count)
    total = len(app.resources)
    if told:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   {told}, of {total} {'resource' if total == 1 else 'resources'}"
    if app.differs:
        mark = terminal.paint(terminal.mark("bad"), "red")
        return f"{mark} {name}   OutOfSync: managedNamespaceMetadata changed since the last sync"
    mark = terminal.paint(terminal.mark("good"), "green")
    unseen = len(app.in_state(State.UNSEEN))
    but = f"; {unseen} more cannot be compared, as the facts lack one side" if unseen else ""
    seen = total - unseen
    return f"{mark} {name}   no difference in {seen} {'resource' if seen == 1 else 'resources'}{but}"


def strategy_words(app: AppDiff) -> str:
    assert app.comparison is not None
    words = _STRATEGIES[app.comparison.strategy]
    others = {resource.resource.strategy for resource in app.resources if resource.state is State.DIFFERS}
    if app.comparison.strategy is Strategy.LEGACY and Strategy.STRUCTURED_MERGE in others:
        words += "; resources that ask for server-side apply by structured merge"
    return words


def _label(label: str, text: str, terminal: Terminal) -> list[str]:
    return terminal.wrap(text, indent=max(_LABEL, len(label) + 4), first=f"  {label}")


def _resource(one: ResourceDiff, case: Case, terminal: Terminal, shown: Shown) -> Iterator[str]:
    yield terminal.paint(f"===== {one.title} ======", "bold")
    if one.state in _WORDS:
        words = _WORDS[one.state]
        if one.state is State.EXTRA:
            words += f" ({extra_words(one)})"
        yield f"  {words}"
    for changed in one.fields:
        yield from _field(changed, case, terminal, shown)
    if shown.ignored:
        for field in one.ignored:
            yield from _ignored(field, terminal)
    if one.disagreement:
        yield from terminal.wrap(f"{one.disagreement}: {reason_for(one, case)}", indent=2)
    yield from _yaml(one, terminal, shown)


def extra_words(one: ResourceDiff) -> str:
    if one.resource.requires_deletion_confirmation:
        return "a sync with pruning asks before it deletes it"
    return "a sync with pruning deletes it"


def _field(changed: ChangedField, case: Case, terminal: Terminal, shown: Shown) -> Iterator[str]:
    yield from _values(changed.change, terminal)
    label, words = writer_words(changed.ownership, case)
    yield from terminal.wrap(words, indent=_LABEL + 4, first=f"    {label}")
    if shown.managers:
        for writer in (*changed.ownership.writers[1:], *changed.ownership.around[1:]):
            yield from terminal.wrap(named(writer, case), indent=_LABEL + 4, first="    also")


def _values(change: FieldChange, terminal: Terminal) -> list[str]:
    """On one line where they fit."""
    git, live = value_words(change.desired), value_words(change.live)
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


def value_words(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "(not set)"
    return one_line(json.dumps(value, ensure_ascii=False), 300)


def writer_words(ownership: Ownership, case: Case) -> tuple[str, str]:
    """A label and a sentence: who wrote the live value."""
    match ownership.standing:
        case OwnershipState.OWNED:
            return "written by", named(ownership.writers[0], case)
        case OwnershipState.NOBODY:
            return "written by", "nobody on record: a default of the API server, or of its definition"
        case OwnershipState.ABSENT:
            around = (
                f"; {named(ownership.around[0], case)} owns what is around it" if ownership.around else ""
            )
            return "written by", f"nobody: the cluster does not have it{around}"
        case OwnershipState.NO_RECORD:
            return "written by", "not on record: the live object came without managedFields"


def named(writer: Writer, case: Case) -> str:
    age: timedelta | None = None
    if writer.time is not None and writer.time.tzinfo is not None:
        age = case.age(writer.time)
    when = f", {ago(age)}" if age is not None else ""
    return one_line(f"{phrase(writer)}{when}")


def _ignored(field: IgnoredField, terminal: Terminal) -> Iterator[str]:
    yield from _values(field.change, terminal)
    yield from terminal.wrap(rule_words(field), indent=_LABEL + 4, first="    ignored by")


def rule_words(field: IgnoredField) -> str:
    if field.rule is None:
        return "the ignore rules together"
    return one_line(f"{field.rule.origin}: {field.selector}")


def reason_for(one: ResourceDiff, case: Case) -> str:
    """Why Argo CD's row may be another, as far as the facts tell."""
    drifts = [drift for drift in case.drifts if drift.ref.key == one.resource.key]
    if one.ignored:
        return f"ignore rules hide {one.ignored[0].change.path}, which it may not have heard of yet"
    if one.state is State.EQUAL and drifts:
        places = ", ".join(drift.pointer for drift in drifts[:3])
        more = f" and {len(drifts) - 3} more" if len(drifts) > 3 else ""
        if not all(drift.only_live for drift in drifts):
            return f"the texts differ at {places}{more}, in what Kubernetes takes for the same"
        blind = ", and what was applied last is not among the facts" if _is_blind(one) else ""
        return f"only the cluster has {places}{more}{blind}"
    compared = case.app.status.reconciled_at
    if compared is not None and (age := case.age(compared)) is not None and age > timedelta(minutes=5):
        return f"it compared last {ago(age)}, these facts are newer"
    return "it compared at another moment, or it knows what the facts do not show"


def _is_blind(one: ResourceDiff) -> bool:
    """A removal from Git shows only against what was applied last."""
    live = one.resource.live
    return one.resource.strategy is Strategy.LEGACY and live is not None and last_applied(live) is None


def _yaml(one: ResourceDiff, terminal: Terminal, shown: Shown) -> Iterator[str]:
    diff = one.resource.diff
    if diff is None:
        return
    try:
        if shown.side_by_side:
            yield from _beside(one, terminal)
            return
        yield terminal.paint("--- live", "red")
        yield terminal.paint("+++ after a sync", "green")
        for mark, text in unified(diff.normalized_live, diff.predicted_live):
            yield _line(mark, text, terminal)
    except TooLong:
        yield "  (too long to show line by line)"


def unified_lines(resource: ResourceDiff) -> Iterator[str]:
    diff = resource.resource.diff
    if diff is None or resource.state is State.UNSEEN:
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


def _beside(one: ResourceDiff, terminal: Terminal) -> Iterator[str]:
    diff = one.resource.diff
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


def _below(app: AppDiff, terminal: Terminal, shown: Shown) -> Iterator[str]:
    """What counts for less: hidden differences, other opinions, what could not be seen."""
    lines: list[str] = []
    hidden = [(resource, field) for resource in app.resources for field in resource.ignored]
    if shown.ignored:
        for resource in app.resources:
            if resource.state is State.EQUAL and resource.ignored:
                lines += ["", terminal.paint(f"===== {resource.title} ======", "bold")]
                lines.append("  equal, but for what is ignored")
                for field in resource.ignored:
                    lines += _ignored(field, terminal)
        lines += _idle_rules(app, terminal)
    elif hidden:
        fields = f"{len(hidden)} {'field' if len(hidden) == 1 else 'fields'}"
        lines += [
            "",
            *_label("ignored", f"{fields} would differ but for ignore rules: --show-ignored", terminal),
        ]
    for one in app.in_state(State.EQUAL):
        if one.disagreement:
            told = f"{one.title}: {one.disagreement}: {reason_for(one, app.case)}"
            lines += ["", *_label("otherwise", told, terminal)]
    unseen = app.in_state(State.UNSEEN)
    for side, lack in (("live object", "live"), ("manifest of Git's", "target")):
        names = [str(one.resource.ref) for one in unseen if getattr(one.resource, lack) is None]
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            told = f"{', '.join(names[:5])}{more}: no {side} among the facts, and Argo CD has one"
            lines += ["", *_label("not seen", told, terminal)]
    yield from lines


def _idle_rules(app: AppDiff, terminal: Terminal) -> Iterator[str]:
    if not app.idle_rules:
        return
    yield ""
    yield "  rules that hide nothing"
    for idle in app.idle_rules:
        about = f" ({idle.about.ref})" if idle.about else ""
        better = f"; write {idle.suggestion}" if idle.suggestion else ""
        told = f"{idle.why}{about}{better}"
        origin = idle.rule.origin
        yield from terminal.wrap(one_line(told), indent=len(origin) + 7, first=f"    {origin}")
