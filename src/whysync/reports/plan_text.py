"""`plan` as text: the verdict, phases and waves, the clusters, the changes, then the diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whysync.diagnosis.report import AppReport, Report, SyncSafety
from whysync.kubernetes.api.ref import Ref
from whysync.plan.plan import AppPlan, Change, ChangeKind, Plan, PlannedCluster, Run, State, Step, Verdict
from whysync.reports import diagnose_text, output
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line

CLUSTER_LABELS: dict[PlannedCluster, str] = {
    PlannedCluster.LIVE: "on the cluster as it is now",
    PlannedCluster.BASE: "on a cluster with the base",
    PlannedCluster.EMPTY: "on an empty cluster",
}
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
AppKey = tuple[str, str]
"""Name and file."""
_HEAD = 15
_INDENT = 31
_MOST_REASONS = 3
_MOST_UNKNOWN = 20
_MOST_CHANGES = 40


def render(plan: Plan, report: Report, terminal: Terminal, *, wide: bool = False) -> Safe:
    reports = by_app(plan, report)
    lines = [*_verdict(plan, reports, terminal)]
    for app in plan.apps:
        lines += ["", *_app(app, reports.get(app.key), terminal, wide=wide, several=len(plan.apps) > 1)]
    if plan.untouched:
        lines += ["", *terminal.wrap(untouched_text(plan), indent=2, first="")]
    for note in plan.notes:
        lines += terminal.wrap(one_line(note), indent=9, first="  note")
    return output.text(lines)


def by_app(plan: Plan, report: Report) -> dict[AppKey, AppReport]:
    """The diagnosis of each app that would fail: that of the final state of its run."""
    diagnosed = {id(app.case.index.snapshot): app for app in report.apps}
    runs = ((app, app.decisive) for app in plan.apps)
    snapshots = ((app.key, id(run.snapshot)) for app, run in runs if run is not None and run.snapshot)
    return {key: diagnosed[snapshot] for key, snapshot in snapshots if snapshot in diagnosed}


def worst_first(app: AppPlan) -> int:
    return list(Verdict).index(app.verdict)


def verdict_texts(plan: Plan, verdict: Verdict, reports: Mapping[AppKey, AppReport]) -> list[str]:
    """A sentence for each app with this verdict."""
    texts = [verdict_text(app, reports.get(app.key)) for app in plan.apps if app.verdict is verdict]
    return [*texts, *plan.not_planned] if verdict is Verdict.UNKNOWN else texts


def verdict_text(app: AppPlan, report: AppReport | None) -> str:
    """The reason of the verdict, in one sentence: the diagnosis is preferred to Argo CD's message."""
    name = app.title
    run = app.decisive
    if app.verdict is Verdict.DELETE and app.safety is not None:
        return f"{name}: {'; '.join(one_line(reason.text) for reason in app.safety.reasons[:_MOST_REASONS])}"
    if run is None:
        return f"{name}: {app.notes[0] if app.notes else 'not planned'}"
    if run.passed and app.unseen:
        return f"{name}: it would pass, but {app.unseen[0].what} is not known: {one_line(app.unseen[0].why)}"
    if run.passed:
        return f"{name}: it syncs and becomes healthy"
    why = run.message
    if report is not None and report.first is not None and report.first.severity.weight > 0:
        why = report.first.verdict
    cluster = (
        ""
        if len(app.runs) == 1 and run.cluster is PlannedCluster.EMPTY
        else f" ({CLUSTER_LABELS[run.cluster]})"
    )
    return f"{name}: {one_line(why)}{cluster}"


def untouched_text(plan: Plan) -> str:
    number = len(plan.untouched)
    names = list(dict.fromkeys(name.partition("/")[2] for name in plan.untouched))
    verb = "app is" if number == 1 else "apps are"
    return f"{number} {verb} not touched: {', '.join(names[:10])}{' …' if len(names) > 10 else ''}"


def took(seconds: float) -> str:
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


def _verdict(plan: Plan, reports: Mapping[AppKey, AppReport], terminal: Terminal) -> Iterator[str]:
    for verdict in plan.problems:
        texts = verdict_texts(plan, verdict, reports)
        if verdict is Verdict.UNKNOWN and len(texts) > _MOST_UNKNOWN:
            texts = [*texts[:_MOST_UNKNOWN], f"and {len(texts) - _MOST_UNKNOWN} more"]
        for number, text in enumerate(texts):
            yield from _headline(verdict if not number else None, text, terminal)
    if plan.verdict is Verdict.PASS:
        text = ", ".join(app.title for app in plan.apps) or "Nothing changes."
        yield from _headline(Verdict.PASS, text, terminal)
    yield terminal.paint(f"{'':<{_HEAD}}{plan.base} {terminal.mark('arrow')} {plan.head}", "dim")


def _headline(verdict: Verdict | None, text: str, terminal: Terminal) -> Iterator[str]:
    head = f"{HEADLINES[verdict]}." if verdict else ""
    for line in terminal.wrap(text, indent=_HEAD, first=head):
        yield (
            line.replace(head, terminal.paint(head, "bold", _VERDICT_COLORS[verdict]), 1) if verdict else line
        )


def _app(
    app: AppPlan, report: AppReport | None, terminal: Terminal, *, wide: bool, several: bool
) -> Iterator[str]:
    if several:
        yield terminal.paint(f"{app.name} ({app.file})" if app.shares_name else app.name, "bold")
    run = app.decisive
    if run is not None and run.steps:
        yield from waves(run.steps, terminal)
        yield ""
    for app_run in app.runs:
        yield from _cluster_result(app_run, app, terminal)
    yield from _changes(app, terminal)
    for note_text in dict.fromkeys((*app.notes, *(note for run in app.runs for note in run.notes))):
        yield from terminal.wrap(
            one_line(note_text),
            indent=_INDENT,
            first="  taken for granted" if note_text not in app.notes else "  note",
        )
    safety = app.safety
    if safety is not None:
        for number, reason in enumerate(safety.reasons or ()):
            yield from terminal.wrap(
                one_line(reason.text), indent=_INDENT, first=f"  {safety_text(app)}" if not number else ""
            )
        if not safety.reasons:
            yield from terminal.wrap("nothing is lost", indent=_INDENT, first=f"  {safety_text(app)}")
    if report is not None and run is not None and not run.passed:
        yield ""
        alone = Report(apps=(report,), groups=())
        yield from diagnose_text.lines_of(alone, terminal, wide=wide, source_flags=None)


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


def _changes(app: AppPlan, terminal: Terminal) -> Iterator[str]:
    marks = MARKS if terminal.unicode else _PLAIN_MARKS
    for number, change in enumerate(app.changes[:_MOST_CHANGES]):
        first = "  changes" if not number else ""
        text = f"{marks[change.sort]} {change_text(change)}"
        for count, line in enumerate(terminal.wrap(text, indent=_INDENT, first=first)):
            mark = marks[change.sort]
            yield (
                line
                if count
                else line.replace(f" {mark} ", f" {terminal.paint(mark, _COLORS[change.sort])} ", 1)
            )
    if len(app.changes) > _MOST_CHANGES:
        yield f"{'':<{_INDENT}}and {len(app.changes) - _MOST_CHANGES} more"
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
