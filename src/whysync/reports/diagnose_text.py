"""The answer on one screen: the first line says what is wrong, then the proof, then what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

from whysync.diagnosis.drift import HiddenBy
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import AppReport, ReasonKind, Report, SyncSafety
from whysync.diagnosis.symptom import Side
from whysync.fixes.follow_up import is_in_git, worth_telling
from whysync.fixes.patches import patch_text
from whysync.json_tree import Json, Missing
from whysync.kubernetes.field_writers import phrase
from whysync.queries.commands import app_argument
from whysync.queries.hidden_drift import unreported_differences
from whysync.reports import output
from whysync.reports.changes_view import change_lines
from whysync.reports.list_view import common_lines
from whysync.reports.output import Safe
from whysync.reports.proof_text import mark_of, notes_of, rejected_in, unproven_note
from whysync.reports.terminal import Terminal, ago, one_line

SIDE_WORDS = {
    Side.COMPARE: "cannot compare",
    Side.DRIFT: "differs",
    Side.APPLY: "sync failed",
    Side.HEALTH: "unhealthy",
    Side.FRESH: "not fresh",
    Side.NONE: "",
}
_HIDDEN_WORDS = {
    HiddenBy.IGNORE_RULE: "an ignore rule hides it",
    HiddenBy.NORMALIZATION: "equal to Argo CD, or only live has it",
    HiddenBy.CONVERSION: "Argo CD reads the live object in Git's API version",
    HiddenBy.FAILED_COMPARISON: "Argo CD could not compare the resource",
    HiddenBy.REPORTED_SYNCED: "Argo CD reports the resource as Synced",
}
_INDENT = 17
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}
_LONGEST_PATCH = 40
_LONGEST_COMPARED = 2_000
_BEFORE_THEY_PART = 12
_MOST_UNEXPLAINED = 8
_VERDICTS = {SyncSafety.SAFE: "Safe", SyncSafety.UNSAFE: "NO", SyncSafety.UNKNOWN: "Unknown"}
# The longer one first: each of them begins a verdict.
_VERDICT_COLORS = {
    "Safe, but": "yellow",
    "Safe": "green",
    "NO": "red",
    "Not now": "yellow",
    "Unknown": "yellow",
}
_MOST_GAPS = 5
_LONGEST_CHAIN = 6
_MOST_SEEN = 4
_USELESS = frozenset({ReasonKind.DOES_NOT_HELP, ReasonKind.DOES_NOT_LAST})
# Nothing is broken by it, and nothing is gained.
_BUT = _USELESS | {
    ReasonKind.SYNC_FAILS,
    ReasonKind.FAILED_BEFORE,
    ReasonKind.SYNC_HANGS,
    ReasonKind.STAYS_DEGRADED,
}
# It cannot even be tried: neither safe nor unsafe is a word for that.
_NOT_NOW = frozenset({ReasonKind.SYNC_RUNNING, ReasonKind.REFUSED})


def render(
    report: Report, terminal: Terminal, *, wide: bool = False, proofs: bool = False, place: str | None = ""
) -> Safe:
    """Apps that are fine take one line each when there are several; one alone says so in a sentence.

    `proofs`: with what happened on the model, without each fix and with it. `place` are the flags with which
    `whysync fix` finds the same facts; `None` where it cannot, as they were made up for this run.
    """
    return output.text(lines_of(report, terminal, wide=wide, proofs=proofs, place=place))


def lines_of(
    report: Report, terminal: Terminal, *, wide: bool = False, proofs: bool = False, place: str | None = ""
) -> Iterator[str]:
    for number, app in enumerate(report.apps):
        yield from ([""] if number else [])
        yield from _app(app, terminal, wide=wide, proofs=proofs, place=place)
    yield from common_lines(report, terminal)
    if note := unproven_note(report.apps):
        yield note


def _app(
    report: AppReport, terminal: Terminal, *, wide: bool, proofs: bool, place: str | None
) -> Iterator[str]:
    yield from _headline(report, terminal)
    if report.findings or report.unexplained:
        yield from _verdict(report, terminal)
    for number, finding in enumerate(finding for finding in report.findings if wide or not finding.caused_by):
        yield ""
        yield from _finding(finding, report, terminal, wide=wide, first=number == 0)
        yield from _fixes(finding, report, terminal, wide=wide, proofs=proofs)
        if number == 0 and place is not None and finding.fixes and not finding.fixes[0].commands:
            # On one line, however long: it is there to be copied.
            command = _how_to_apply(finding.fixes[0], report, place)
            yield f"    {terminal.paint('apply', 'dim')}{'':<{_INDENT - 9}}{command}"
    if wide:
        yield from _hidden(report, terminal)
        yield from change_lines(report, terminal)
    else:
        yield from _consequences(report, terminal)
    yield from _remainder(report, terminal, wide=wide)


def _hidden(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Differences that Argo CD does not show, with what hides each."""
    for number, difference in enumerate(unreported_differences(report.case)):
        yield from ([""] if number == 0 else [])
        desired, live = (
            None if isinstance(value, Missing) else value for value in (difference.desired, difference.live)
        )
        rule = f" ({difference.ignore_rule})" if difference.ignore_rule else ""
        text = f"{difference.ref} {difference.pointer}: {_both_sides(desired, live, terminal)}"
        yield from _labelled(terminal, "hidden", f"{text}; {_HIDDEN_WORDS[difference.hidden_by]}{rule}")


def state_of(report: AppReport) -> str:
    """`OutOfSync · Healthy · sync failed 12m ago`."""
    app, operation = report.case.app, report.case.operation
    parts = [app.status.sync.status or "never compared", app.status.health.status or "health unknown"]
    if operation is not None and operation.phase in ("Failed", "Error"):
        parts.append(f"sync failed {ago(report.case.age(operation.finished_at))}".rstrip())
    elif operation is not None and operation.phase in ("Running", "Terminating"):
        doing = "retrying" if operation.finished_at else operation.phase.lower()
        parts.append(f"sync {doing} since {ago(report.case.age(operation.started_at))}".removesuffix(" ago"))
    if app.metadata.deletion_timestamp is not None:
        since = ago(report.case.age(app.metadata.deletion_timestamp)).removesuffix(" ago")
        parts.append(f"being deleted since {since}")
    return " · ".join(parts)


def _headline(report: AppReport, terminal: Terminal) -> Iterator[str]:
    mark, color = "good", "green"
    if report.findings and report.findings[0].severity.weight > 0:
        mark, color = "bad", "red"
    elif report.unexplained:
        mark, color = "unsure", "yellow"
    elif report.findings:
        mark, color = "wait", "blue"
    elif report.is_unsure:
        mark, color = "unsure", "yellow"
    state = state_of(report).replace("·", terminal.mark("dot"))
    head = f"{terminal.mark(mark)} {report.case.app.name}   {state}"
    answer = answer_of(report)
    painted = terminal.paint(head, "bold", color)
    if not answer:
        yield painted
    elif len(head) + 3 + len(answer) <= terminal.width:
        yield f"{painted}   {terminal.paint(answer, 'bold')}"
    else:
        yield painted
        for line in terminal.wrap(answer, indent=2):
            yield terminal.paint(line, "bold")


def answer_of(report: AppReport) -> str:
    """In one sentence. "Nothing found" and "could not look" are different answers."""
    if report.first is not None:
        return f"{_word(report)}: {one_line(report.first.verdict)}"
    if report.unexplained and report.side is Side.NONE:
        return "a problem is reported, and nothing that whysync knows explains it"
    if report.unexplained:
        return f"{_word(report)}: nothing that whysync knows explains it"
    if not report.was_compared:
        return "Argo CD has not compared it yet"
    return "nothing found, but evidence is missing" if report.is_unsure else "nothing is wrong"


def _word(report: AppReport) -> str:
    """The side in words; a sync that still runs has not failed."""
    operation = report.case.operation
    runs = operation is not None and operation.phase in ("Running", "Terminating")
    waiting = report.first is not None and report.first.severity.weight == 0
    if report.side is Side.APPLY and (waiting or (runs and report.first is None)):
        return "waiting"
    if report.side is Side.APPLY and runs:
        return "sync hangs"
    failed = operation is not None and operation.phase in ("Failed", "Error")
    if report.side is Side.APPLY and not failed and report.case.app.metadata.deletion_timestamp is not None:
        return "deletion hangs"
    return SIDE_WORDS[report.side]


def _finding(
    finding: Finding, report: AppReport, terminal: Terminal, *, wide: bool, first: bool
) -> Iterator[str]:
    title = str(finding.about)
    if finding.field:
        title += f"   {finding.field}"
    values = _values(finding, terminal)
    line = f"  {terminal.paint(title, 'cyan')}"
    if values and len(title) + len(values) + 6 <= terminal.width:
        line += f"   {values}"
        values = ""
    yield line
    if values:
        yield from terminal.wrap(values, indent=4)
    if not first:
        yield from _labelled(terminal, "why", one_line(finding.verdict))
    if finding.root:
        yield from _chain(finding, terminal, wide=wide)
    if finding.writer is not None:
        when = ago(report.case.age(finding.writer.time))
        yield from _labelled(terminal, "written by", f"{phrase(finding.writer)}{', ' if when else ''}{when}")
    if not finding.root:
        for words in _all(finding) if wide else _telling(finding, terminal):
            yield from _labelled(terminal, "seen", words)
    if finding.confidence is not Confidence.HIGH:
        yield from _labelled(terminal, "confidence", finding.confidence.value)


def _chain(finding: Finding, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """From what Argo CD shows down to the root cause."""
    shown = finding.evidence if wide else finding.evidence[-_LONGEST_CHAIN:]
    for depth, evidence in enumerate(shown):
        yield from terminal.wrap(_seen(evidence, finding, wide=wide), **_step(depth, terminal))
    mark = f"{terminal.mark('left')} root cause"
    *lines, last = terminal.wrap(one_line(finding.root or ""), **_step(len(shown), terminal))
    yield from (terminal.paint(line, "bold") for line in lines)
    if len(last) + 3 + len(mark) <= terminal.width:
        yield f"{terminal.paint(last, 'bold')}   {terminal.paint(mark, 'red')}"
    else:
        yield terminal.paint(last, "bold")
        yield f"{'':<{_step(len(shown), terminal)['indent']}}{terminal.paint(mark, 'red')}"


class _Step(TypedDict):
    indent: int
    first: str


def _step(depth: int, terminal: Terminal) -> _Step:
    """The indentation of one link of a chain."""
    if not depth:
        return _Step(indent=4, first="")
    indent = 4 + 2 * min(depth, 7)
    return _Step(indent=indent, first=f"{'':<{indent - 2}}{terminal.mark('branch')} ")


def _values(finding: Finding, terminal: Terminal) -> str:
    """`Git 1 → live 3`, where the evidence holds both sides of the field."""
    sides = {e.source: e.value for e in finding.evidence if e.pointer == finding.field}
    if "desired" not in sides or "live" not in sides:
        return ""
    return _both_sides(sides["desired"], sides["live"], terminal)


def _both_sides(desired: Json, live: Json, terminal: Terminal) -> str:
    """Long values that begin alike are shown from where they part: two images differ in their tags."""
    wanted, found = _brief(desired), _brief(live)
    if wanted == found and desired != live:
        whole = [_brief(value, _LONGEST_COMPARED) for value in (desired, live)]
        parts = (at for at, pair in enumerate(zip(*whole, strict=False)) if pair[0] != pair[1])
        alike = max(next(parts, min(map(len, whole))) - _BEFORE_THEY_PART, 0)
        wanted, found = (one_line(f"…{text[alike:]}", 40) for text in whole)
    return f"Git {wanted} {terminal.mark('arrow')} live {found}"


def _brief(value: Json, longest: int = 40) -> str:
    text = "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)
    return one_line(text, longest)


def _all(finding: Finding) -> Iterator[str]:
    return (_seen(evidence, finding, wide=True) for evidence in finding.evidence)


def _telling(finding: Finding, terminal: Terminal) -> list[str]:
    """What the line of values above does not show already; both sides of a further field are one line."""
    told = {"desired", "live"} if finding.field else set[str]()
    rest = [e for e in finding.evidence if e.source not in told or e.pointer != finding.field]
    live = {(e.ref.kind, e.ref.name, e.pointer): e for e in rest if e.source == "live"}
    wanted = {(e.ref.kind, e.ref.name, e.pointer) for e in rest if e.source == "desired"}
    lines: list[str] = []
    for evidence in rest:
        field = (evidence.ref.kind, evidence.ref.name, evidence.pointer)
        if field not in live or field not in wanted:
            lines.append(_seen(evidence, finding, wide=False))
        elif evidence.source == "desired":
            values = _both_sides(evidence.value, live[field].value, terminal)
            lines.append(f"{evidence.pointer}: {values}")
    more = len(lines) - _MOST_SEEN
    return lines if more <= 0 else [*lines[:_MOST_SEEN], f"and {more} more (-o wide)"]


def _seen(evidence: Evidence, finding: Finding, *, wide: bool) -> str:
    """What it says, its value where that is short, or everything is asked for, and where it stands."""
    value = _brief(evidence.value, 2_000 if wide else 300)
    if not wide and isinstance(evidence.value, dict):
        value = _gist(evidence.value)
    told_already = finding.root is not None and one_line(finding.root) in value
    if (
        evidence.value is None
        or not value
        or (not wide and (told_already or isinstance(evidence.value, list)))
    ):
        return f"{evidence.says}: {_where(evidence)}"
    return f"{evidence.says}: {value} ({_where(evidence)})"


def _where(evidence: Evidence) -> str:
    """`live Pod shop/web /status`, `log of Pod shop/web, container web, line 3`."""
    if evidence.source == "application":
        return f"Application {evidence.pointer}"
    container, _, line = evidence.pointer.removeprefix("/").rpartition("/")
    if evidence.source == "log" and container and line.isdigit():
        name, dot, _ = container.partition(".previous")
        run = ", the run before" if dot else ""
        return f"log of {evidence.ref}, container {name}{run}, line {line}"
    return f"{evidence.source} {evidence.ref} {evidence.pointer}"


def _gist(value: dict[str, Json]) -> str:
    """Of a condition or a container's end: its kind, its reason, and what it says."""
    head = [one_line(str(value[name])) for name in ("type", "reason") if isinstance(value.get(name), str)]
    code = value.get("exitCode")
    if isinstance(code, int):
        head.append(f"exit code {code}")
    said = value.get("message")
    return ": ".join(
        [", ".join(head), *([one_line(said, 200)] if isinstance(said, str) and said else [])]
    ).strip(": ")


def _fixes(
    finding: Finding, report: AppReport, terminal: Terminal, *, wide: bool, proofs: bool
) -> Iterator[str]:
    for number, fix in enumerate(finding.fixes, start=1):
        label = "fix" if len(finding.fixes) == 1 else f"fix {number}"
        yield from _marked(terminal, label, fix)
        for note in notes_of(fix, everything=wide or proofs):
            yield from _labelled(terminal, "", note)
        if fix.risk:
            yield from _labelled(terminal, "", f"risk: {one_line(fix.risk)}")
        if fix.destroys:
            lost = terminal.wrap(f"destroys: {one_line(', '.join(fix.destroys))}", indent=_INDENT)
            yield from (terminal.paint(line, "red") for line in lost)
        yield from _patch(fix, report, terminal, wide=wide)
        for place, step in enumerate(worth_telling(fix, report.case)):
            yield f"{'' if place else '    then':<{_INDENT}}{step}"
        if proofs:
            yield from (f"{'':<{_INDENT}}{line}".rstrip() for line in fix.proof.trace)
    if wide or proofs:
        for words in rejected_in(finding):
            yield from _labelled(terminal, "refuted", words, "red")


def _marked(terminal: Terminal, label: str, fix: Fix) -> Iterator[str]:
    """Title and mark of a fix; the mark is below the title if there is no room behind it."""
    title, mark = one_line(fix.title), mark_of(fix, terminal)
    color = "red" if fix.destroys else "green"
    lines = list(_labelled(terminal, label, title, color))
    if (
        mark
        and _INDENT + len(terminal.wrap(title, indent=_INDENT)[-1].strip()) + 3 + len(mark) <= terminal.width
    ):
        lines[-1] += f"   {terminal.paint(mark, color)}"
    elif mark:
        lines.append(f"{'':<{_INDENT}}{terminal.paint(mark, color)}")
    yield from lines


def _how_to_apply(fix: Fix, report: AppReport, place: str) -> str:
    """Where it goes: into the files of a checkout, or onto the object itself."""
    command = f"whysync fix {app_argument(report.case) + place}"
    if is_in_git(fix):
        return f"{command} --checkout DIR | git apply"
    return f"{command} -o yaml | kubectl apply -f -" if fix.create is not None else f"{command} -o commands"


def _patch(fix: Fix, report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """Whole where it is short; else the lines that change."""
    lines = patch_text(fix, report.case).splitlines()
    if len(lines) > _LONGEST_PATCH and not wide:
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
        rest = len(lines) - min(len(changed or lines), _LONGEST_PATCH)
        lines = [*(changed or lines)[:_LONGEST_PATCH], f"({rest} more lines: -o wide)"]
    is_diff = any(line.startswith("@@") for line in lines)
    for line in lines:
        color = _DIFF_COLORS.get(line[:1], "") if is_diff else ""
        yield f"{'':<{_INDENT}}{terminal.paint(line, color) if color else line}".rstrip()


def _consequences(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """What follows from a root; news that rest on one tell how to prevent the next."""
    following = [finding for finding in report.findings if finding.caused_by]
    if following:
        yield ""
    for finding in following:
        news = finding.severity is Severity.INFO
        text = one_line(finding.verdict)
        if news and finding.fixes and not (_is_discouraged(report) and _syncs(finding.fixes[0])):
            text += f" {terminal.mark('arrow')} {one_line(finding.fixes[0].title)} (-o wide)"
        lines = terminal.wrap(text, indent=_INDENT, first="    also" if news else "    consequences")
        yield from (terminal.paint(line, "dim") for line in lines)


def _is_discouraged(report: AppReport) -> bool:
    """May a sync hurt, or does it nothing for it?"""
    safety = report.safety
    useless = any(reason.kind in _USELESS for reason in safety.reasons)
    return safety.sync is not SyncSafety.SAFE or useless


def _syncs(fix: Fix) -> bool:
    return any(command.startswith("argocd app sync ") for command in fix.commands)


def _verdict(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Whether to sync now: directly below the headline, its first word in color."""
    text = safety_of(report)
    label = "  sync now?"
    lines = terminal.wrap(text, indent=len(label) + 3, first=label)
    word = next(word for word in _VERDICT_COLORS if text.startswith(word))
    painted = terminal.paint(word, "bold", _VERDICT_COLORS[word])
    lines[0] = lines[0].replace(label, terminal.paint(label, "dim"), 1).replace(word, painted, 1)
    yield from lines


def safety_of(report: AppReport) -> str:
    """`NO. It drops 2 running pods; …`, `Safe, but it will fail the same way until …`."""
    reasons = [one_line(reason.text) for reason in report.safety.reasons]
    word = _VERDICTS[report.safety.sync]
    if not reasons:
        return word
    first = report.safety.reasons[0].kind
    if report.safety.sync is SyncSafety.SAFE and first in _NOT_NOW:
        word = "Not now"
    if report.safety.sync is SyncSafety.SAFE and first in _BUT:
        return f"{word}, but {'; '.join(reasons)}"
    reasons[0] = f"{reasons[0][:1].upper()}{reasons[0][1:]}"
    return f"{word}. {'; '.join(reasons)}"


def _remainder(report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """What nothing explains, what could not be looked at, and rules that failed: never dropped."""
    unexplained = [symptom for symptom in report.unexplained if not symptom.unread]
    for symptom in unexplained[:_MOST_UNEXPLAINED]:
        yield from _labelled(terminal, "unexplained", one_line(symptom.text), "yellow")
    more = len(unexplained) - _MOST_UNEXPLAINED
    if more > 0:
        yield from _labelled(terminal, "", f"and {more} more (-o json has them all)")
    yield from _not_understood(report, terminal, wide=wide)
    for gap in report.gaps[:_MOST_GAPS]:
        help = f"; {gap.how_to_get}" if gap.how_to_get else ""
        yield from _labelled(terminal, "not readable", one_line(f"{gap.what}: {gap.why}{help}"), "yellow")
    if len(report.gaps) > _MOST_GAPS:
        yield from _labelled(terminal, "", f"and {len(report.gaps) - _MOST_GAPS} more gaps (-o json)")
    for crashed in report.crashed:
        text = f"rule {crashed.rule} failed: {crashed.error}; please report it"
        yield from _labelled(terminal, "unchecked", one_line(text), "yellow")
    unmet = sorted({need for skipped in report.skipped for need in skipped.needs})
    if unmet and (report.findings or report.unexplained):
        yield from _labelled(terminal, "not provided", ", ".join(unmet))


def _not_understood(report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """Quoted under the object that they are about. A certain finding makes what only echoes it redundant."""
    certain = report.first is not None and report.first.confidence is Confidence.HIGH
    kept = report.unexplained if certain and not wide else report.not_understood
    texts: dict[str, list[str]] = {}
    for symptom in kept:
        if symptom.unread:
            texts.setdefault(str(symptom.ref or report.case.application.ref), []).append(symptom.words)
    if texts:
        yield f"    {terminal.paint('reported, not understood', 'yellow')}"
    quotes = [(about, words) for about, reported in texts.items() for words in dict.fromkeys(reported)]
    shown = len(quotes) if wide else _MOST_UNEXPLAINED
    for number, (about, words) in enumerate(quotes[:shown]):
        if not number or quotes[number - 1][0] != about:
            yield f"      {terminal.paint(about, 'cyan')}"
        yield from terminal.wrap(one_line(words), indent=8)
    if len(quotes) > shown:
        yield f"      and {len(quotes) - shown} more (-o wide)"


def _labelled(terminal: Terminal, label: str, text: str, color: str = "") -> Iterator[str]:
    first = f"    {label}"
    lines = terminal.wrap(text, indent=_INDENT, first=first)
    if terminal.color and label:
        lines[0] = lines[0].replace(label, terminal.paint(label, color or "dim"), 1)
    yield from lines
