"""`plan` as text: the verdict, phases and waves, the clusters, the changes, then the diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.report import SyncSafety
from whysync.kubernetes.api.ref import Ref
from whysync.plan.plan import (
    AppPlan,
    Cause,
    Change,
    ChangeKind,
    Plan,
    PlannedFix,
    Run,
    State,
    Step,
    Verdict,
)
from whysync.reports import output
from whysync.reports.diagnose_text import evidence_text, fix_title, is_shortened
from whysync.reports.output import Safe
from whysync.reports.plan_summary import CLUSTER_LABELS, assumption_texts, gap_text, some, statements
from whysync.reports.proof_text import notes_of
from whysync.reports.terminal import LABEL_WIDTH, Terminal, one_line

MARKS: dict[ChangeKind, str] = {
    ChangeKind.CREATE: "+",
    ChangeKind.CHANGE: "~",
    ChangeKind.RECREATE: "±",
    ChangeKind.PRUNE: "−",
    ChangeKind.KEEP: "·",
    ChangeKind.HOOK: "▸",
}
_PLAIN_MARKS: dict[ChangeKind, str] = {
    **MARKS,
    ChangeKind.RECREATE: "-+",
    ChangeKind.PRUNE: "-",
    ChangeKind.KEEP: ".",
    ChangeKind.HOOK: ">",
}
_COLORS = {
    ChangeKind.CREATE: "green",
    ChangeKind.CHANGE: "yellow",
    ChangeKind.RECREATE: "red",
    ChangeKind.PRUNE: "red",
    ChangeKind.KEEP: "dim",
    ChangeKind.HOOK: "blue",
}
_STATES = {State.DONE: "good", State.FAILED: "bad", State.WAITING: "hourglass", State.NOT_REACHED: "dot"}
_STATE_COLORS = {
    State.DONE: "green",
    State.FAILED: "red",
    State.WAITING: "yellow",
    State.NOT_REACHED: "dim",
}
HEADLINES: dict[Verdict, str] = {
    Verdict.FAIL: "Would fail",
    Verdict.DELETE: "Would delete",
    Verdict.UNKNOWN: "Unknown",
    Verdict.PASS: "Would pass",
}
_VERDICT_COLORS = {
    Verdict.FAIL: "red",
    Verdict.DELETE: "red",
    Verdict.UNKNOWN: "yellow",
    Verdict.PASS: "green",
}
VERDICT_CLASSES: dict[Verdict, str] = {
    Verdict.FAIL: "bad",
    Verdict.DELETE: "bad",
    Verdict.UNKNOWN: "wait",
    Verdict.PASS: "good",
}
_VERDICT_MARKS = {
    Verdict.FAIL: "bad",
    Verdict.DELETE: "bad",
    Verdict.UNKNOWN: "unsure",
    Verdict.PASS: "good",
}
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan", "#": "cyan"}
_HEAD = 15
_INDENT = 31
_MOST_STATEMENTS = 20
_MOST_CHANGES = 40
_MOST_GAPS = 5
_MOST_BRIEF = 40
_LONGEST_PATCH = 40
_SCREEN = 60
"""Lines in which apps are shown in detail."""


def render(plan: Plan, terminal: Terminal, *, wide: bool = False) -> Safe:
    """The verdict, then the apps: in detail with `wide` or if it fits on a screen, otherwise a line each."""
    if not plan.apps and plan.verdict is Verdict.PASS:
        return output.text([_nothing_changes(plan, terminal), *_notes(plan, terminal)])
    lines = [*_verdict(plan, terminal, wide=wide)]
    details = [
        line
        for app in plan.apps
        for line in ("", *_app(app, terminal, wide=wide, several=len(plan.apps) > 1))
    ]
    if wide or len(plan.apps) <= 1 or len(details) <= _SCREEN:
        lines += details
    else:
        lines += ["", *_brief(plan.apps, terminal)]
    assumed = assumption_texts(plan, most=10_000 if wide else 8)
    if assumed:
        lines += ["", *terminal.wrap("; ".join(assumed), indent=_INDENT, first="  taken for granted")]
    if plan.untouched:
        lines += ["", *terminal.wrap(untouched_text(plan), indent=2, first="")]
    return output.text([*lines, *_notes(plan, terminal)])


def _notes(plan: Plan, terminal: Terminal) -> Iterator[str]:
    for note in plan.notes:
        yield from terminal.wrap(one_line(note), indent=9, first="  note")


def _nothing_changes(plan: Plan, terminal: Terminal) -> str:
    number = len(plan.untouched)
    apps = f": {number} app{'s are' if number > 1 else ' is'} not touched" if number else ""
    return f"{terminal.paint('Nothing changes', 'bold', 'green')}{apps}."


def _brief(apps: Sequence[AppPlan], terminal: Terminal) -> Iterator[str]:
    """A line for each app that changes something existing; those that only add objects in one paragraph."""
    adding = [app for app in apps if app.changes and all(map(_is_new, app.changes))]
    changing = [app for app in apps if app.changes and app not in adding]
    width = min(max((len(app.title) for app in changing), default=0), 40)
    for app in sorted(changing, key=worst_first)[:_MOST_BRIEF]:
        risky = sorted(
            (change for change in app.changes if not _is_new(change)),
            key=lambda change: (not change.is_harmful, not change.risk),
        )
        changes = ", ".join(f"{_mark(change.sort, terminal)} {change_text(change)}" for change in risky[:5])
        mark = terminal.paint(terminal.mark(_VERDICT_MARKS[app.verdict]), _VERDICT_COLORS[app.verdict])
        line = f"{one_line(app.title, width):<{width}}  {_counts(app, terminal):<10}  {changes}"
        yield f"{mark} {one_line_of(line, terminal.width - 2)}"
    if len(changing) > _MOST_BRIEF:
        yield f"  and {len(changing) - _MOST_BRIEF} more apps"
    if adding:
        names = some((f"{app.title} ({_counts(app, terminal)})" for app in adding), _MOST_BRIEF)
        yield from terminal.wrap(names, indent=_HEAD, first="Only new:")
    yield terminal.paint("-o wide shows the waves, changes and fixes of each app", "dim")


def _is_new(change: Change) -> bool:
    return change.sort in (ChangeKind.CREATE, ChangeKind.HOOK) and not change.risk


def _mark(sort: ChangeKind, terminal: Terminal) -> str:
    return (MARKS if terminal.unicode else _PLAIN_MARKS)[sort]


def _counts(app: AppPlan, terminal: Terminal) -> str:
    """`+7 ~2 −1`."""
    counts = Counter(change.sort for change in app.changes)
    return " ".join(f"{_mark(sort, terminal)}{counts[sort]}" for sort in ChangeKind if counts[sort])


def one_line_of(text: str, width: int) -> str:
    """The text as it is, cut at the width of the terminal."""
    return text.rstrip() if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def worst_first(app: AppPlan) -> int:
    return list(Verdict).index(app.verdict)


def untouched_text(plan: Plan) -> str:
    number = len(plan.untouched)
    names = some(name.partition("/")[2] for name in plan.untouched)
    verb = "app is" if number == 1 else "apps are"
    return f"{number} {verb} not touched: {names}"


def took(seconds: float) -> str:
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


def _verdict(plan: Plan, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    found = statements(plan)
    for verdict in plan.problems:
        of_verdict = [statement for statement in found if statement.verdict is verdict]
        limit = len(of_verdict) if wide else _MOST_STATEMENTS
        for number, statement in enumerate(of_verdict[:limit]):
            yield from _headline(verdict if not number else None, statement.sentence(), terminal)
            if place := statement.place():
                yield from (terminal.paint(line, "dim") for line in terminal.wrap(place, indent=_HEAD + 2))
        if len(of_verdict) > limit:
            yield f"{'':<{_HEAD}}and {len(of_verdict) - limit} more (-o wide)"
    passing = [app.title for app in plan.apps if app.verdict is Verdict.PASS]
    if passing and len(plan.apps) > 1:
        count = "all" if len(passing) == len(plan.apps) else str(len(passing))
        yield from _headline(Verdict.PASS, f"{count} of {len(plan.apps)} apps", terminal)
    elif plan.verdict is Verdict.PASS:
        yield from _headline(Verdict.PASS, ", ".join(passing) or "Nothing changes.", terminal)
    yield terminal.paint(f"{'':<{_HEAD}}{plan.base} {terminal.mark('arrow')} {plan.head}", "dim")


def _headline(verdict: Verdict | None, text: str, terminal: Terminal) -> Iterator[str]:
    head = f"{HEADLINES[verdict]}." if verdict else ""
    for line in terminal.wrap(text, indent=_HEAD, first=head):
        yield (
            line.replace(head, terminal.paint(head, "bold", _VERDICT_COLORS[verdict]), 1) if verdict else line
        )


def _app(app: AppPlan, terminal: Terminal, *, wide: bool, several: bool) -> Iterator[str]:
    if several:
        yield terminal.paint(f"{app.name} ({app.file})" if app.shares_name else app.name, "bold")
    run = app.decisive
    if run is not None and run.steps:
        yield from waves(run.steps, terminal)
        yield ""
    for app_run in app.runs:
        yield from _cluster_result(app_run, app, terminal)
    yield from _changes(app, terminal, wide=wide)
    for note in dict.fromkeys((*app.notes, *(note for run in app.runs for note in run.notes))):
        yield from terminal.wrap(one_line(note), indent=_INDENT, first="  note")
    for number, gap in enumerate(app.unseen if wide else app.unseen[:_MOST_GAPS]):
        first = "" if number else "  not known"
        yield from terminal.wrap(gap_text(gap), indent=_INDENT, first=first)
    if len(app.unseen) > _MOST_GAPS and not wide:
        yield f"{'':<{_INDENT}}and {len(app.unseen) - _MOST_GAPS} more"
    safety = app.safety
    if safety is not None:
        for number, reason in enumerate(safety.reasons or ()):
            yield from terminal.wrap(
                one_line(reason.text), indent=_INDENT, first=f"  {safety_text(app)}" if not number else ""
            )
        if not safety.reasons:
            yield from terminal.wrap("nothing is lost", indent=_INDENT, first=f"  {safety_text(app)}")
    for number, cause in enumerate(app.causes):
        yield ""
        yield from _cause(cause, terminal, wide=wide, first=not number)


def _cause(cause: Cause, terminal: Terminal, *, wide: bool, first: bool) -> Iterator[str]:
    """What would fail, where it is written, and how to change that."""
    finding = cause.finding
    about = one_line(f"{finding.about} {finding.field or ''}")
    place = f"   {one_line(finding.place)}" if finding.place else ""
    yield f"  {terminal.paint(about, 'cyan')}{terminal.paint(place, 'bold')}"
    if not first or is_shortened(finding):
        yield from terminal.labeled("why", one_line(finding.verdict, 2_000))
    if finding.root and finding.root not in finding.verdict:
        yield from terminal.labeled("root cause", one_line(finding.root, 2_000))
    for evidence in finding.evidence if wide else ():
        yield from terminal.labeled("evidence", evidence_text(evidence, finding, wide=True))
    if finding.confidence is not Confidence.HIGH:
        yield from terminal.labeled("confidence", finding.confidence.value)
    for number, planned in enumerate(cause.fixes, start=1):
        label = "fix" if len(cause.fixes) == 1 else f"fix {number}"
        yield from fix_title(terminal, label, planned.fix)
        for note in notes_of(planned.fix, everything=wide):
            yield from terminal.labeled("", note)
        if planned.fix.risk:
            yield from terminal.labeled("", f"risk: {one_line(planned.fix.risk)}")
        if planned.fix.destroys:
            yield from terminal.labeled("", f"destroys: {one_line(', '.join(planned.fix.destroys))}", "red")
        if planned.hint:
            yield from terminal.labeled("", one_line(planned.hint, 600))
        yield from _patch(planned, terminal, wide=wide)


def _patch(planned: PlannedFix, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """A diff for `git apply`; not wrapped, so that it can be copied."""
    lines = planned.diff.split("\n")[:-1]
    if len(lines) > _LONGEST_PATCH and not wide:
        lines = [*lines[:_LONGEST_PATCH], f"({len(lines) - _LONGEST_PATCH} more lines: -o wide)"]
    for line in lines:
        color = _DIFF_COLORS.get(line[:1], "")
        yield f"{'':<{LABEL_WIDTH}}{terminal.paint(line, color) if color else line}".rstrip()


def safety_text(app: AppPlan) -> str:
    """Whether a merge is safe; a sync that fails is never safe to merge."""
    match app.safety.sync if app.safety is not None else SyncSafety.UNKNOWN:
        case SyncSafety.SAFE:
            return "safe to merge" if app.passed else "safe otherwise"
        case SyncSafety.UNSAFE:
            return "not safe to merge"
        case SyncSafety.UNKNOWN:
            return "safe? unknown"


def waves(steps: tuple[Step, ...], terminal: Terminal) -> Iterator[str]:
    """One line per wave: its resources and how it ended."""
    shown_phase = ""
    for step in steps:
        head = f"  {step.phase if step.phase != shown_phase else '':<9}{step.wave:>3}  "
        shown_phase = step.phase
        line, used = head, len(head)
        for item in step.items:
            note = f" {terminal.mark('wait')} {one_line(item.note, 120)}" if item.note else ""
            label = f"{item.ref.kind} {item.ref.name}{note}"
            if used > len(head) and used + len(label) + 4 > terminal.width:
                yield line.rstrip()
                line, used = " " * len(head), len(head)
            mark = terminal.paint(terminal.mark(_STATES[item.state]), _STATE_COLORS[item.state])
            line += f"{mark} {label}  "
            used += len(label) + 4
        if all(item.state is State.NOT_REACHED for item in step.items):
            line += terminal.paint(" not reached", "dim")
        yield line.rstrip()


def _cluster_result(run: Run, app: AppPlan, terminal: Terminal) -> Iterator[str]:
    if run.passed:
        result = terminal.paint(f"would pass in {took(run.seconds)}", "green")
        yield f"  {CLUSTER_LABELS[run.cluster]:<{_INDENT - 2}}{result}"
        return
    cluster = CLUSTER_LABELS[run.cluster] if run.steps else "on any cluster"
    result = f"would fail after {took(run.seconds)}" if run.steps else "would fail at once"
    if run.fails_as_base:
        result += f", as the base does: {one_line(run.message, 400)}"
    elif app.decisive is not run:
        result += f": {one_line(run.message, 400)}"
    for line in terminal.wrap(result, indent=_INDENT, first=f"  {cluster}"):
        yield line.replace("would fail", terminal.paint("would fail", "red"), 1)


def _changes(app: AppPlan, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    limit = len(app.changes) if wide else _MOST_CHANGES
    marks = MARKS if terminal.unicode else _PLAIN_MARKS
    for number, change in enumerate(app.changes[:limit]):
        first = "  changes" if not number else ""
        text = f"{marks[change.sort]} {change_text(change)}"
        for count, line in enumerate(terminal.wrap(text, indent=_INDENT, first=first)):
            mark = marks[change.sort]
            yield (
                line
                if count
                else line.replace(f" {mark} ", f" {terminal.paint(mark, _COLORS[change.sort])} ", 1)
            )
    if len(app.changes) > limit:
        yield f"{'':<{_INDENT}}and {len(app.changes) - limit} more (-o wide)"
    if not app.changes and any(run.steps for run in app.runs):
        yield f"  {'changes':<{_INDENT - 2}}none in its resources"


def change_text(change: Change) -> str:
    text = f"{change.ref.kind} {change.ref.name}"
    if change.renamed is not None:
        return one_line(f"{text} ({_renamed(change, change.renamed)})")
    if change.sort is ChangeKind.HOOK:
        text += " (hook)"
    elif change.sort is ChangeKind.PRUNE:
        text += f" (pruned! {change.risk})" if change.risk else " (pruned)"
    elif change.risk:
        text += f" ({change.risk})"
    elif change.fields:
        first, *rest = change.fields
        text += f" ({first} and {len(rest)} more)" if rest else f" ({first})"
    return one_line(text)


def _renamed(change: Change, other: Ref) -> str:
    """Text for one half of a rename; if the name is the same, the namespace differs."""
    name = other.name if other.name != change.ref.name else other.place
    if change.sort is ChangeKind.CREATE:
        return f"was {name}"
    lost = f": {change.risk}" if change.risk else ""
    if change.sort is ChangeKind.KEEP:
        return f"renamed to {name}: that is a creation beside it{lost}"
    return f"renamed to {name}: that is a deletion and a creation{lost}"
