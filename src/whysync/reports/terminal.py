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
from whysync.reports.proof_view import mark_of, notes_of, rejected_in, unproven_note
from whysync.reports.screen import Screen, ago, one_line

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
    report: Report, screen: Screen, *, wide: bool = False, proofs: bool = False, place: str | None = ""
) -> Safe:
    """Apps that are fine take one line each when there are several; one alone says so in a sentence.

    `proofs`: with what happened on the model, without each fix and with it. `place` are the flags with which
    `whysync fix` finds the same facts; `None` where it cannot, as they were made up for this run.
    """
    return output.text(lines_of(report, screen, wide=wide, proofs=proofs, place=place))


def lines_of(
    report: Report, screen: Screen, *, wide: bool = False, proofs: bool = False, place: str | None = ""
) -> Iterator[str]:
    for number, app in enumerate(report.apps):
        yield from ([""] if number else [])
        yield from _app(app, screen, wide=wide, proofs=proofs, place=place)
    yield from common_lines(report, screen)
    if note := unproven_note(report.apps):
        yield note


def _app(report: AppReport, screen: Screen, *, wide: bool, proofs: bool, place: str | None) -> Iterator[str]:
    yield from _headline(report, screen)
    if report.findings or report.unexplained:
        yield from _verdict(report, screen)
    for number, finding in enumerate(finding for finding in report.findings if wide or not finding.caused_by):
        yield ""
        yield from _finding(finding, report, screen, wide=wide, first=number == 0)
        yield from _fixes(finding, report, screen, wide=wide, proofs=proofs)
        if number == 0 and place is not None and finding.fixes and not finding.fixes[0].commands:
            # On one line, however long: it is there to be copied.
            command = _how_to_apply(finding.fixes[0], report, place)
            yield f"    {screen.paint('apply', 'dim')}{'':<{_INDENT - 9}}{command}"
    if wide:
        yield from _hidden(report, screen)
        yield from change_lines(report, screen)
    else:
        yield from _consequences(report, screen)
    yield from _remainder(report, screen, wide=wide)


def _hidden(report: AppReport, screen: Screen) -> Iterator[str]:
    """Differences that Argo CD does not show, with what hides each."""
    for number, difference in enumerate(unreported_differences(report.case)):
        yield from ([""] if number == 0 else [])
        desired, live = (
            None if isinstance(value, Missing) else value for value in (difference.desired, difference.live)
        )
        rule = f" ({difference.ignore_rule})" if difference.ignore_rule else ""
        text = f"{difference.ref} {difference.pointer}: {_both_sides(desired, live, screen)}"
        yield from _labelled(screen, "hidden", f"{text}; {_HIDDEN_WORDS[difference.hidden_by]}{rule}")


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


def _headline(report: AppReport, screen: Screen) -> Iterator[str]:
    mark, color = "good", "green"
    if report.findings and report.findings[0].severity.weight > 0:
        mark, color = "bad", "red"
    elif report.unexplained:
        mark, color = "unsure", "yellow"
    elif report.findings:
        mark, color = "wait", "blue"
    elif report.is_unsure:
        mark, color = "unsure", "yellow"
    state = state_of(report).replace("·", screen.mark("dot"))
    head = f"{screen.mark(mark)} {report.case.app.name}   {state}"
    answer = answer_of(report)
    painted = screen.paint(head, "bold", color)
    if not answer:
        yield painted
    elif len(head) + 3 + len(answer) <= screen.width:
        yield f"{painted}   {screen.paint(answer, 'bold')}"
    else:
        yield painted
        for line in screen.wrap(answer, indent=2):
            yield screen.paint(line, "bold")


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
    finding: Finding, report: AppReport, screen: Screen, *, wide: bool, first: bool
) -> Iterator[str]:
    title = str(finding.about)
    if finding.field:
        title += f"   {finding.field}"
    values = _values(finding, screen)
    line = f"  {screen.paint(title, 'cyan')}"
    if values and len(title) + len(values) + 6 <= screen.width:
        line += f"   {values}"
        values = ""
    yield line
    if values:
        yield from screen.wrap(values, indent=4)
    if not first:
        yield from _labelled(screen, "why", one_line(finding.verdict))
    if finding.root:
        yield from _chain(finding, screen, wide=wide)
    if finding.writer is not None:
        when = ago(report.case.age(finding.writer.time))
        yield from _labelled(screen, "written by", f"{phrase(finding.writer)}{', ' if when else ''}{when}")
    if not finding.root:
        for words in _all(finding) if wide else _telling(finding, screen):
            yield from _labelled(screen, "seen", words)
    if finding.confidence is not Confidence.HIGH:
        yield from _labelled(screen, "confidence", finding.confidence.value)


def _chain(finding: Finding, screen: Screen, *, wide: bool) -> Iterator[str]:
    """From what Argo CD shows down to the root cause."""
    shown = finding.evidence if wide else finding.evidence[-_LONGEST_CHAIN:]
    for depth, evidence in enumerate(shown):
        yield from screen.wrap(_seen(evidence, finding, wide=wide), **_step(depth, screen))
    mark = f"{screen.mark('left')} root cause"
    *lines, last = screen.wrap(one_line(finding.root or ""), **_step(len(shown), screen))
    yield from (screen.paint(line, "bold") for line in lines)
    if len(last) + 3 + len(mark) <= screen.width:
        yield f"{screen.paint(last, 'bold')}   {screen.paint(mark, 'red')}"
    else:
        yield screen.paint(last, "bold")
        yield f"{'':<{_step(len(shown), screen)['indent']}}{screen.paint(mark, 'red')}"


class _Step(TypedDict):
    indent: int
    first: str


def _step(depth: int, screen: Screen) -> _Step:
    """The indentation of one link of a chain."""
    if not depth:
        return _Step(indent=4, first="")
    indent = 4 + 2 * min(depth, 7)
    return _Step(indent=indent, first=f"{'':<{indent - 2}}{screen.mark('branch')} ")


def _values(finding: Finding, screen: Screen) -> str:
    """`Git 1 → live 3`, where the evidence holds both sides of the field."""
    sides = {e.source: e.value for e in finding.evidence if e.pointer == finding.field}
    if "desired" not in sides or "live" not in sides:
        return ""
    return _both_sides(sides["desired"], sides["live"], screen)


def _both_sides(desired: Json, live: Json, screen: Screen) -> str:
    """Long values that begin alike are shown from where they part: two images differ in their tags."""
    wanted, found = _brief(desired), _brief(live)
    if wanted == found and desired != live:
        whole = [_brief(value, _LONGEST_COMPARED) for value in (desired, live)]
        parts = (at for at, pair in enumerate(zip(*whole, strict=False)) if pair[0] != pair[1])
        alike = max(next(parts, min(map(len, whole))) - _BEFORE_THEY_PART, 0)
        wanted, found = (one_line(f"…{text[alike:]}", 40) for text in whole)
    return f"Git {wanted} {screen.mark('arrow')} live {found}"


def _brief(value: Json, longest: int = 40) -> str:
    text = "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)
    return one_line(text, longest)


def _all(finding: Finding) -> Iterator[str]:
    return (_seen(evidence, finding, wide=True) for evidence in finding.evidence)


def _telling(finding: Finding, screen: Screen) -> list[str]:
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
            values = _both_sides(evidence.value, live[field].value, screen)
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


def _fixes(finding: Finding, report: AppReport, screen: Screen, *, wide: bool, proofs: bool) -> Iterator[str]:
    for number, fix in enumerate(finding.fixes, start=1):
        label = "fix" if len(finding.fixes) == 1 else f"fix {number}"
        yield from _marked(screen, label, fix)
        for note in notes_of(fix, everything=wide or proofs):
            yield from _labelled(screen, "", note)
        if fix.risk:
            yield from _labelled(screen, "", f"risk: {one_line(fix.risk)}")
        if fix.destroys:
            lost = screen.wrap(f"destroys: {one_line(', '.join(fix.destroys))}", indent=_INDENT)
            yield from (screen.paint(line, "red") for line in lost)
        yield from _patch(fix, report, screen, wide=wide)
        for place, step in enumerate(worth_telling(fix, report.case)):
            yield f"{'' if place else '    then':<{_INDENT}}{step}"
        if proofs:
            yield from (f"{'':<{_INDENT}}{line}".rstrip() for line in fix.proof.trace)
    if wide or proofs:
        for words in rejected_in(finding):
            yield from _labelled(screen, "refuted", words, "red")


def _marked(screen: Screen, label: str, fix: Fix) -> Iterator[str]:
    """Title and mark of a fix; the mark is below the title if there is no room behind it."""
    title, mark = one_line(fix.title), mark_of(fix, screen)
    color = "red" if fix.destroys else "green"
    lines = list(_labelled(screen, label, title, color))
    if mark and _INDENT + len(screen.wrap(title, indent=_INDENT)[-1].strip()) + 3 + len(mark) <= screen.width:
        lines[-1] += f"   {screen.paint(mark, color)}"
    elif mark:
        lines.append(f"{'':<{_INDENT}}{screen.paint(mark, color)}")
    yield from lines


def _how_to_apply(fix: Fix, report: AppReport, place: str) -> str:
    """Where it goes: into the files of a checkout, or onto the object itself."""
    command = f"whysync fix {app_argument(report.case) + place}"
    if is_in_git(fix):
        return f"{command} --checkout DIR | git apply"
    return f"{command} -o yaml | kubectl apply -f -" if fix.create is not None else f"{command} -o commands"


def _patch(fix: Fix, report: AppReport, screen: Screen, *, wide: bool) -> Iterator[str]:
    """Whole where it is short; else the lines that change."""
    lines = patch_text(fix, report.case).splitlines()
    if len(lines) > _LONGEST_PATCH and not wide:
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
        rest = len(lines) - min(len(changed or lines), _LONGEST_PATCH)
        lines = [*(changed or lines)[:_LONGEST_PATCH], f"({rest} more lines: -o wide)"]
    is_diff = any(line.startswith("@@") for line in lines)
    for line in lines:
        color = _DIFF_COLORS.get(line[:1], "") if is_diff else ""
        yield f"{'':<{_INDENT}}{screen.paint(line, color) if color else line}".rstrip()


def _consequences(report: AppReport, screen: Screen) -> Iterator[str]:
    """What follows from a root; news that rest on one tell how to prevent the next."""
    following = [finding for finding in report.findings if finding.caused_by]
    if following:
        yield ""
    for finding in following:
        news = finding.severity is Severity.INFO
        text = one_line(finding.verdict)
        if news and finding.fixes and not (_is_discouraged(report) and _syncs(finding.fixes[0])):
            text += f" {screen.mark('arrow')} {one_line(finding.fixes[0].title)} (-o wide)"
        lines = screen.wrap(text, indent=_INDENT, first="    also" if news else "    consequences")
        yield from (screen.paint(line, "dim") for line in lines)


def _is_discouraged(report: AppReport) -> bool:
    """May a sync hurt, or does it nothing for it?"""
    safety = report.safety
    useless = any(reason.kind in _USELESS for reason in safety.reasons)
    return safety.sync is not SyncSafety.SAFE or useless


def _syncs(fix: Fix) -> bool:
    return any(command.startswith("argocd app sync ") for command in fix.commands)


def _verdict(report: AppReport, screen: Screen) -> Iterator[str]:
    """Whether to sync now: directly below the headline, its first word in color."""
    text = safety_of(report)
    label = "  sync now?"
    lines = screen.wrap(text, indent=len(label) + 3, first=label)
    word = next(word for word in _VERDICT_COLORS if text.startswith(word))
    painted = screen.paint(word, "bold", _VERDICT_COLORS[word])
    lines[0] = lines[0].replace(label, screen.paint(label, "dim"), 1).replace(word, painted, 1)
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


def _remainder(report: AppReport, screen: Screen, *, wide: bool) -> Iterator[str]:
    """What nothing explains, what could not be looked at, and rules that failed: never dropped."""
    unexplained = [symptom for symptom in report.unexplained if not symptom.unread]
    for symptom in unexplained[:_MOST_UNEXPLAINED]:
        yield from _labelled(screen, "unexplained", one_line(symptom.text), "yellow")
    more = len(unexplained) - _MOST_UNEXPLAINED
    if more > 0:
        yield from _labelled(screen, "", f"and {more} more (-o json has them all)")
    yield from _not_understood(report, screen, wide=wide)
    for gap in report.gaps[:_MOST_GAPS]:
        help = f"; {gap.how_to_get}" if gap.how_to_get else ""
        yield from _labelled(screen, "not readable", one_line(f"{gap.what}: {gap.why}{help}"), "yellow")
    if len(report.gaps) > _MOST_GAPS:
        yield from _labelled(screen, "", f"and {len(report.gaps) - _MOST_GAPS} more gaps (-o json)")
    for crashed in report.crashed:
        text = f"rule {crashed.rule} failed: {crashed.error}; please report it"
        yield from _labelled(screen, "unchecked", one_line(text), "yellow")
    unmet = sorted({need for skipped in report.skipped for need in skipped.needs})
    if unmet and (report.findings or report.unexplained):
        yield from _labelled(screen, "not provided", ", ".join(unmet))


def _not_understood(report: AppReport, screen: Screen, *, wide: bool) -> Iterator[str]:
    """Quoted under the object that they are about. A certain finding makes what only echoes it redundant."""
    certain = report.first is not None and report.first.confidence is Confidence.HIGH
    kept = report.unexplained if certain and not wide else report.not_understood
    texts: dict[str, list[str]] = {}
    for symptom in kept:
        if symptom.unread:
            texts.setdefault(str(symptom.ref or report.case.application.ref), []).append(symptom.words)
    if texts:
        yield f"    {screen.paint('reported, not understood', 'yellow')}"
    quotes = [(about, words) for about, reported in texts.items() for words in dict.fromkeys(reported)]
    shown = len(quotes) if wide else _MOST_UNEXPLAINED
    for number, (about, words) in enumerate(quotes[:shown]):
        if not number or quotes[number - 1][0] != about:
            yield f"      {screen.paint(about, 'cyan')}"
        yield from screen.wrap(one_line(words), indent=8)
    if len(quotes) > shown:
        yield f"      and {len(quotes) - shown} more (-o wide)"


def _labelled(screen: Screen, label: str, text: str, color: str = "") -> Iterator[str]:
    first = f"    {label}"
    lines = screen.wrap(text, indent=_INDENT, first=first)
    if screen.color and label:
        lines[0] = lines[0].replace(label, screen.paint(label, color or "dim"), 1)
    yield from lines
