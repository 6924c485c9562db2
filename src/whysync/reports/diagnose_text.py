"""`diagnose` and `diagnose -o wide`: the cause on the first line, then the evidence, then the fixes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain
from typing import TypedDict

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import HiddenBy
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.report import AppReport, ReasonKind, Report, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import Fact
from whysync.diagnosis.sentences import both_ends, counted
from whysync.diagnosis.symptom import Side, Symptom, SymptomKind
from whysync.errors import Refused
from whysync.facts.snapshot import Gap
from whysync.fixes.follow_up import is_in_git, noteworthy_commands
from whysync.fixes.formats import as_commands
from whysync.fixes.patches import patch_text
from whysync.fixes.places import edited_sources
from whysync.json_tree import Json, Missing, text
from whysync.kubernetes.api.manifest import owner_of_kind
from whysync.messages.parse import understand
from whysync.messages.wrappers import LayerKind
from whysync.queries.application_set_state import APPLICATION_SET, SetReport, rollout_of
from whysync.queries.attempts import pending_retry
from whysync.queries.check_commands import checks_for, side_checks, unhealthy_checks, writer_checks
from whysync.queries.commands import app_argument, is_read_only, is_sync, words_of
from whysync.queries.hidden_drift import UnreportedDifference, unreported_differences
from whysync.queries.recent_changes import Change, recent_changes
from whysync.queries.sources import is_commit, is_pinned
from whysync.reports import output
from whysync.reports.fleet import Entry, broken_apps, counts_of, every_app, gaps_of
from whysync.reports.list_view import common_lines
from whysync.reports.output import Safe
from whysync.reports.proof_text import mark_of, notes_of, rejected_in, unproven_note
from whysync.reports.terminal import LABEL_WIDTH, Terminal, ago, one_line, short_age

SIDE_WORDS = {
    Side.COMPARE: "cannot compare",
    Side.DRIFT: "differs",
    Side.APPLY: "sync failed",
    Side.HEALTH: "unhealthy",
    Side.FRESH: "not fresh",
    Side.NONE: "",
}
_HIDDEN_WORDS = {
    HiddenBy.IGNORE_RULE: "hidden by an ignore rule",
    HiddenBy.NORMALIZATION: "equal after normalization, or only in the live object",
    HiddenBy.CONVERSION: "Argo CD converts the live object to the API version in Git",
    HiddenBy.FAILED_COMPARISON: "Argo CD could not compare the resource",
    HiddenBy.REPORTED_SYNCED: "Argo CD reports the resource as Synced",
}
_NOT_SHOWN_HERE = frozenset({HiddenBy.NORMALIZATION, HiddenBy.FAILED_COMPARISON})
"""The comparison of whysync does not show it; that of Argo CD may."""
_STEPS = {
    LayerKind.LOAD_TARGET_STATE: "reading the desired state",
    LayerKind.SOURCE_N_OF_M: "generating the manifests",
    LayerKind.GENERATE_MANIFESTS: "generating the manifests",
    LayerKind.CACHED: "generating the manifests",
    LayerKind.HELM_TEMPLATE: "Helm",
    LayerKind.HELM_DEPENDENCIES: "fetching the chart's dependencies",
    LayerKind.PLUGIN: "the config management plugin",
    LayerKind.RESOLVE_REVISION: "resolving the revision",
    LayerKind.FETCH: "fetching the repository",
    LayerKind.LOAD_LIVE_STATE: "reading the live state",
    LayerKind.CLUSTER: "reading the cluster",
    LayerKind.COMPARE_STATES: "comparing the states",
    LayerKind.DIFF: "computing the difference",
}
_NOT_STARTED = {"autosync-empty-refused": "not synced", "argocd-rbac": "request denied"}
"""Causes with which no sync has run, so that none has failed."""
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
_OF_VERSIONS = r"/status/readyReplicas|/status/history/\d+/revision|/status/containerStatuses/\d+/image"
_SHOWN_SETTINGS = frozenset({"destination", "source"})
_MOST_NAMES = 5
_MOST_LINES = 3
_CANDIDATE = "candidate"
_GIVEN_UP = "autosync-given-up"
_DEGRADED = "degraded-workload"
_LONGEST_HEADLINE = 220
_SENTENCE_END = re.compile(r"[\w)'\"`]\. ")
_LONGEST_VALUE = 300
_LONG_REASON = 40
_DIFF_COLORS = {"+": "green", "-": "red", "#": "cyan"}
_LONGEST_PATCH = 40
_LONGEST_COMPARED = 2_000
_COMMON_PREFIX_SHOWN = 12
_MOST_UNEXPLAINED = 8

_MOST_GAPS = 5
_MOST_SAME = 10
_MOST_CHANGES = 15
_LONGEST_CHAIN = 6
_MOST_EVIDENCE = 4
_USELESS = frozenset({ReasonKind.DOES_NOT_HELP, ReasonKind.DOES_NOT_LAST})
# Safe, but the sync does not achieve anything.
_BUT = _USELESS | {ReasonKind.MAY_PASS, ReasonKind.STAYS_DEGRADED, ReasonKind.SYNC_LOOP}
# A sync cannot start now, so it is neither safe nor unsafe; one that fails is of no use either.
_NOT_NOW = frozenset({ReasonKind.SYNC_RUNNING, ReasonKind.REFUSED})


class SyncVerdict(StrEnum):
    """The answer to "sync now?", as it is printed."""

    SAFE = "Safe"
    SAFE_BUT = "Safe, but"
    UNSAFE = "NO"
    NOT_NOW = "Not now"
    UNKNOWN = "Unknown"


_VERDICTS = {
    SyncSafety.SAFE: SyncVerdict.SAFE,
    SyncSafety.UNSAFE: SyncVerdict.UNSAFE,
    SyncSafety.UNKNOWN: SyncVerdict.UNKNOWN,
}
_VERDICT_COLORS = {
    SyncVerdict.SAFE: "green",
    SyncVerdict.SAFE_BUT: "yellow",
    SyncVerdict.UNSAFE: "red",
    SyncVerdict.NOT_NOW: "yellow",
    SyncVerdict.UNKNOWN: "yellow",
}


def render(
    report: Report,
    terminal: Terminal,
    *,
    wide: bool = False,
    proofs: bool = False,
    source_flags: str | None = "",
    fleet: bool = False,
    sets: Sequence[SetReport] = (),
) -> Safe:
    """The report as text.

    `proofs` adds the trace of the simulation without and with each fix. `source_flags` are the flags with
    which `whysync fix` reads the same facts; `None` if they cannot be read again. `fleet`: only what is
    broken, the worst first, with the number of the other apps.
    """
    lines = lines_of(report, terminal, wide=wide, proofs=proofs, source_flags=source_flags, fleet=fleet)
    if not sets:
        return output.text(lines)
    from whysync.reports.application_set_text import lines_of_set

    of_sets = (
        line
        for one in sets
        for line in (*lines_of_set(one, report, terminal, wide=wide, source_flags=source_flags), "")
    )
    return output.text(chain(of_sets, lines if report.apps else ()))


def lines_of(
    report: Report,
    terminal: Terminal,
    *,
    wide: bool = False,
    proofs: bool = False,
    source_flags: str | None = "",
    fleet: bool = False,
) -> Iterator[str]:
    entries = broken_apps(report, lambda app: sync_verdict(app)[0]) if fleet else every_app(report)
    for number, entry in enumerate(entries):
        yield from ([""] if number else [])
        yield from _app(entry, terminal, wide=wide, proofs=proofs, source_flags=source_flags)
    if fleet:
        yield from ([""] if entries else [])
        yield from _rest(report, entries, terminal)
    yield from common_lines(report, terminal)
    if note := unproven_note(report.apps):
        yield note


def _rest(report: Report, entries: Sequence[Entry], terminal: Terminal) -> Iterator[str]:
    """How many apps are not shown, and what could not be checked in them."""
    counts = str(counts_of(report)).replace("·", terminal.mark("dot"))
    yield counts if entries else f"{terminal.paint(terminal.mark('good'), 'green')} {counts}"
    visible = {id(entry.app) for entry in entries}
    hidden = [app for app in report.apps if id(app) not in visible]
    if not entries:
        yield from _gaps(gaps_of(hidden), terminal)
    for crashed in dict.fromkeys(crashed for app in hidden for crashed in app.crashed):
        text = f"rule {crashed.rule} failed: {crashed.error}; please report it"
        yield from terminal.labeled("not checked", one_line(text), "yellow")


def _app(
    entry: Entry, terminal: Terminal, *, wide: bool, proofs: bool, source_flags: str | None
) -> Iterator[str]:
    report = entry.app
    yield from _headline(report, terminal, entry.name)
    if entry.same:
        names = ", ".join(map(one_line, entry.same[: None if wide else _MOST_SAME]))
        more = len(entry.same) - _MOST_SAME
        names += f" and {more} more (-o wide)" if more > 0 and not wide else ""
        yield from terminal.wrap(f"same in {counted(len(entry.same), 'other app')}: {names}", indent=2)
    if report.findings or report.unexplained:
        yield from _safety(report, terminal)
    for number, finding in enumerate(finding for finding in report.findings if wide or not finding.caused_by):
        yield ""
        yield from finding_lines(
            finding,
            report,
            terminal,
            wide=wide,
            proofs=proofs,
            first=number == 0,
            source_flags=source_flags,
        )
    if wide:
        yield from _hidden(report, terminal)
        yield from _recent_changes(report, terminal)
    else:
        yield from _consequences(report, terminal)
    yield from _remainder(report, terminal, wide=wide)


def _hidden(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Differences that Argo CD does not report, and the reason for each.

    Not those with which a finding explains the resource: the comparison of whysync does not show them, but
    Argo CD may have seen them.
    """
    hidden = [
        difference
        for difference in unreported_differences(report.case)
        if difference.hidden_by not in _NOT_SHOWN_HERE or not _is_blamed(difference, report.findings)
    ]
    for number, difference in enumerate(hidden):
        yield from ([""] if number == 0 else [])
        desired, live = (
            None if isinstance(value, Missing) else value for value in (difference.desired, difference.live)
        )
        rule = f" ({difference.ignore_rule})" if difference.ignore_rule else ""
        text = f"{difference.ref} {difference.pointer}: {_both_sides(desired, live, terminal)}"
        yield from terminal.labeled("hidden", f"{text}; {_HIDDEN_WORDS[difference.hidden_by]}{rule}")


def _is_blamed(difference: UnreportedDifference, findings: Sequence[Finding]) -> bool:
    place = (difference.ref.key, difference.pointer)
    return any(
        place == (finding.about.key, finding.field)
        or any(place == (evidence.ref.key, evidence.pointer) for evidence in finding.evidence)
        for finding in findings
    )


def _recent_changes(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """What changed since the app was Synced and Healthy."""
    recent = recent_changes(report.case)
    if recent is None:
        return
    yield ""
    if recent.began is not None:
        start = f"{_when(recent.began, report)}, Application {recent.shown_by}"
        yield from terminal.labeled("began", start)
    for number, change in enumerate(recent.changes[:_MOST_CHANGES]):
        yield from terminal.labeled("" if number else "changed", _change(change, report, terminal))
    if not recent.changes:
        yield from terminal.labeled("changed", "no change in the facts")
    if len(recent.changes) > _MOST_CHANGES:
        yield from terminal.labeled("", f"and {len(recent.changes) - _MOST_CHANGES} more (-o json)")
    if recent.gaps:
        gaps = "; ".join(f"{gap.what} ({gap.why})" for gap in recent.gaps)
        yield from terminal.labeled("not known", gaps)


def _change(change: Change, report: AppReport, terminal: Terminal) -> str:
    is_clear = change.names_object or change.about == report.case.application.ref
    text = change.what if is_clear else f"{change.about} {change.what}"
    author = f" by {change.who}" if change.who else ""
    values = ""
    if change.before is not None or change.after is not None:
        before, after = (_brief_revision(value) for value in (change.before, change.after))
        values = f": {before} {terminal.mark('arrow')} {after}"
    command = f"; {change.command}" if change.command else ""
    return one_line(f"{_when(change.time, report)}  {text}{author}{values}{command}")


def _brief_revision(value: Json) -> str:
    """A value on one line; a commit is cut to 8 characters."""
    return value[:8] if isinstance(value, str) and is_commit(value) else _brief(value, 60)


def _when(time: datetime | None, report: AppReport) -> str:
    if time is None:
        return "time unknown"
    return f"{time:%Y-%m-%d %H:%M:%S} ({ago(report.case.age(time))})"


def state_of(report: AppReport) -> str:
    """`OutOfSync · Healthy · sync failed 12m ago`."""
    app, operation = report.case.app, report.case.operation
    parts = [app.status.sync.status or "never compared", app.status.health.status or "health unknown"]
    if operation is not None and operation.phase in ("Failed", "Error"):
        parts.append(f"sync failed {ago(report.case.age(operation.finished_at))}".rstrip())
    elif operation is not None and operation.phase in ("Running", "Terminating"):
        activity = "retrying" if operation.finished_at else operation.phase.lower()
        parts.append(f"sync {activity}{_for(report.case.age(operation.started_at))}")
    if app.metadata.deletion_timestamp is not None:
        parts.append(f"terminating{_for(report.case.age(app.metadata.deletion_timestamp))}")
    return " · ".join(parts)


def _for(age: timedelta | None) -> str:
    return f" for {short_age(age)}" if age is not None else ""


def _headline(report: AppReport, terminal: Terminal, name: str) -> Iterator[str]:
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
    head = f"{terminal.mark(mark)} {name}   {state}"
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
    """The answer in one sentence. "Nothing found" and "could not be checked" are different answers."""
    if report.first is not None:
        return f"{_state_word(report)}: {headline_of(report.first)}"
    if report.unexplained and report.side is Side.NONE:
        return "a problem is reported, but no rule explains it"
    if report.unexplained:
        return f"{_state_word(report)}: {_unknown_error(report) or 'no rule explains it'}"
    if not report.was_compared:
        return "Argo CD has not compared it yet"
    if report.is_unsure:
        return "nothing found, but evidence is missing"
    empty = "" if report.case.app.status.resources else "; the app has no resources"
    if {Fact.DESIRED, Fact.LIVE} <= _unmet(report):
        return f"Argo CD reports no problem, but only its status was checked{empty}"
    return f"nothing is wrong{empty}"


def _unknown_error(report: AppReport) -> str:
    """The step that failed, and the words of an error that no pattern matches; empty if there is none."""
    unread = next((s for s in report.unexplained if s.unread and s.side is Side.COMPARE and s.raw), None)
    if unread is None:
        return ""
    message = understand(unread.raw)
    step = next((_STEPS[layer.kind] for layer in reversed(message.layers) if layer.kind in _STEPS), "")
    return f"{step or 'it'} fails with an error that whysync does not know: {both_ends(message.rest)}"


def _unmet(report: AppReport) -> set[str]:
    """The facts that rules needed but that were not provided."""
    return {need for skipped in report.skipped for need in skipped.needs}


def headline_of(finding: Finding) -> str:
    """The verdict on a few lines: of sentences the first ones, of a chain of errors its start and its end."""
    verdict = one_line(finding.verdict, 2_000)
    if len(verdict) <= _LONGEST_HEADLINE:
        return verdict
    ends = [match.end() for match in _SENTENCE_END.finditer(verdict[:_LONGEST_HEADLINE])]
    if ends:
        return f"{verdict[: ends[-1]].rstrip('. ')} …"
    first, *rest = verdict.split(": ")
    end: list[str] = []
    while rest and len(first) + sum(len(line) + 2 for line in end) + len(rest[-1]) + 5 <= _LONGEST_HEADLINE:
        end.insert(0, rest.pop())
    if not end:
        return f"{verdict[:_LONGEST_HEADLINE].rpartition(' ')[0].rstrip(',;:')} …"
    return ": ".join([first, *(["…"] if rest else []), *end])


def is_shortened(finding: Finding) -> bool:
    return headline_of(finding) != one_line(finding.verdict, 2_000)


def _state_word(report: AppReport) -> str:
    """The side in words; a sync that is still running has not failed."""
    operation = report.case.operation
    is_running = operation is not None and operation.phase in ("Running", "Terminating")
    waiting = report.first is not None and report.first.severity.weight == 0
    if report.side is Side.APPLY and (waiting or (is_running and report.first is None)):
        return "waiting"
    if report.side is Side.APPLY and is_running:
        retry = pending_retry(report.case)
        return f"sync failed, {retry} follows" if retry else "sync hangs"
    failed = operation is not None and operation.phase in ("Failed", "Error")
    if report.side is Side.APPLY and not failed and report.case.app.metadata.deletion_timestamp is not None:
        return "deletion hangs"
    if report.side is Side.APPLY and not failed and _is_deletion_error(report):
        return "deletion failed"
    if _is_only_logged(report) and (report.side is Side.COMPARE or _is_of_container(report)):
        return "error in the log"
    status = report.case.app.status
    if report.side is Side.COMPARE and status.sync.status == "Synced" and status.health.status == "Unknown":
        return "health unknown"  # the comparison worked, but a health check failed
    if report.side is Side.APPLY and operation is None and _is_only_logged(report):
        return "error in the log"  # no sync ran
    if report.first is not None and report.first.cause in _NOT_STARTED:
        return _NOT_STARTED[report.first.cause]
    if report.side is Side.DRIFT and report.case.app.status.sync.status == "Synced":
        return "hidden difference" if report.first is not None and report.first.field else "warning"
    return SIDE_WORDS[report.side]


def _is_deletion_error(report: AppReport) -> bool:
    """Does the first finding only explain that the resources of the app could not be deleted?"""
    explained = report.first.explains if report.first is not None else ()
    conditions = [id for id in explained if id.kind is SymptomKind.CONDITION]
    return bool(conditions) and all(id.detail == "DeletionError" for id in conditions)


def _is_of_container(report: AppReport) -> bool:
    """A container of the app logs the error: it is not one of a sync."""
    first = report.first
    logged = [s for s in report.case.symptoms if first is not None and s.id in first.explains]
    return report.side is Side.APPLY and all(symptom.ref is not None for symptom in logged)


def _is_only_logged(report: AppReport) -> bool:
    """Only a log line shows the error: Argo CD itself reports a comparison."""
    first = report.first
    compared = report.case.app.status.sync.status in ("Synced", "OutOfSync")
    return first is not None and compared and all(id.kind is SymptomKind.LOG for id in first.explains)


def finding_lines(
    finding: Finding,
    report: AppReport,
    terminal: Terminal,
    *,
    wide: bool,
    proofs: bool,
    first: bool,
    source_flags: str | None,
) -> Iterator[str]:
    """One finding with its evidence and its fixes."""
    yield from _finding(finding, report, terminal, wide=wide, first=first)
    yield from _fixes(
        finding, report, terminal, wide=wide, proofs=proofs, first=first, source_flags=source_flags
    )


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
    if finding.location is not None:
        yield from terminal.labeled("declared in", one_line(str(finding.location)))
    root_follows = finding.root is not None and one_line(finding.root, 2_000) in one_line(
        finding.verdict, 2_000
    )
    if not first or (is_shortened(finding) and not root_follows):
        label = "would fail" if finding.predicted else "in full" if first else "why"
        yield from terminal.labeled(label, one_line(finding.verdict, 2_000))
    if finding.root:
        yield from _chain(finding, terminal, wide=wide)
    if finding.writer is not None:
        when = ago(report.case.age(finding.writer.time))
        yield from terminal.labeled("written by", f"{finding.written_by}{', ' if when else ''}{when}")
    if not finding.root:
        for line in _all_evidence(finding) if wide else _key_evidence(finding, terminal):
            yield from terminal.labeled("evidence", line)
    if finding.confidence is not Confidence.HIGH:
        yield from terminal.labeled("confidence", finding.confidence.value)


def _chain(finding: Finding, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """From what Argo CD shows down to the root cause; that of a consequence is another finding."""
    supporting = [item for item in finding.evidence if _is_supporting(item)]
    steps = [item for item in finding.evidence if item not in supporting]
    visible = steps if wide else _explaining(steps)[-_LONGEST_CHAIN:]
    for depth, evidence in enumerate(visible):
        yield from terminal.wrap(evidence_text(evidence, finding, wide=wide), **_step(depth, terminal))
    mark = "" if finding.caused_by else f"{terminal.mark('left')} root cause"
    *lines, last = terminal.wrap(one_line(finding.root or ""), **_step(len(visible), terminal))
    yield from (terminal.paint(line, "bold") for line in lines)
    if not mark:
        yield terminal.paint(last, "bold")
    elif len(last) + 3 + len(mark) <= terminal.width:
        yield f"{terminal.paint(last, 'bold')}   {terminal.paint(mark, 'red')}"
    else:
        yield terminal.paint(last, "bold")
        yield f"{'':<{_step(len(visible), terminal)['indent']}}{terminal.paint(mark, 'red')}"
    for evidence in supporting:
        yield from terminal.labeled("evidence", evidence_text(evidence, finding, wide=wide))


def _is_supporting(evidence: Evidence) -> bool:
    """Is it about the previous version and its commit? It supports the revert only."""
    return bool(re.fullmatch(_OF_VERSIONS, evidence.pointer))


def _explaining(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """The evidence without timestamps, which explain nothing; all of it if there is nothing else."""
    steps = [
        item for item in evidence if not (isinstance(item.value, str) and re.fullmatch(_TIME, item.value))
    ]
    return steps or evidence


class _Step(TypedDict):
    indent: int
    first: str


def _step(depth: int, terminal: Terminal) -> _Step:
    """The indentation at this depth of a chain."""
    if not depth:
        return _Step(indent=4, first="")
    indent = 4 + 2 * min(depth, 7)
    return _Step(indent=indent, first=f"{'':<{indent - 2}}{terminal.mark('branch')} ")


def _values(finding: Finding, terminal: Terminal) -> str:
    """`Git 1 → live 3`, if the evidence has both values of the field."""
    of_field = [e for e in finding.evidence if e.pointer == finding.field]
    same = [e for e in of_field if _is_about(e, finding)]
    sides = {e.source: e.value for e in same or of_field}
    if "desired" not in sides or "live" not in sides:
        return ""
    return _both_sides(sides["desired"], sides["live"], terminal)


def _is_about(evidence: Evidence, finding: Finding) -> bool:
    """Does it cite the object of the finding? A manifest in Git often has no namespace."""
    cited, about = evidence.ref.key, finding.about.key
    return cited == about or cited == about._replace(namespace="")


def _both_sides(desired: Json, live: Json, terminal: Terminal) -> str:
    """Long values with a common prefix, such as two images, are shown from the end of that prefix."""
    desired_text, live_text = _brief(desired), _brief(live)
    if desired_text == live_text and desired != live:
        full = [_brief(value, _LONGEST_COMPARED) for value in (desired, live)]
        differing = (at for at, pair in enumerate(zip(*full, strict=False)) if pair[0] != pair[1])
        start = max(next(differing, min(map(len, full))) - _COMMON_PREFIX_SHOWN, 0)
        desired_text, live_text = (one_line(f"…{text[start:]}", 40) for text in full)
    return f"Git {desired_text} {terminal.mark('arrow')} live {live_text}"


def _brief(value: Json, longest: int = 40) -> str:
    text = "(none)" if value is None else value if value and isinstance(value, str) else json.dumps(value)
    return one_line(text, longest)


def _all_evidence(finding: Finding) -> Iterator[str]:
    return (evidence_text(evidence, finding, wide=True) for evidence in finding.evidence)


def _key_evidence(finding: Finding, terminal: Terminal) -> list[str]:
    """Evidence that the title does not show already; both values of another field share a line."""
    in_title = {"desired", "live"} if finding.field else set[str]()
    rest = [
        e
        for e in _explaining(finding.evidence)
        if e.source not in in_title or e.pointer != finding.field or not _is_about(e, finding)
    ]
    live = {(e.ref.kind, e.ref.name, e.pointer): e for e in rest if e.source == "live"}
    desired = {(e.ref.kind, e.ref.name, e.pointer) for e in rest if e.source == "desired"}
    lines: list[str] = []
    for evidence in rest:
        field = (evidence.ref.kind, evidence.ref.name, evidence.pointer)
        if field not in live or field not in desired:
            lines.append(evidence_text(evidence, finding, wide=False))
        elif evidence.source == "desired":
            values = _both_sides(evidence.value, live[field].value, terminal)
            of = "" if _is_about(evidence, finding) else f"{evidence.ref} "
            lines.append(f"{of}{evidence.pointer}: {values}")
    more = len(lines) - _MOST_EVIDENCE
    return lines if more <= 0 else [*lines[:_MOST_EVIDENCE], f"and {more} more (-o wide)"]


def evidence_text(evidence: Evidence, finding: Finding, *, wide: bool) -> str:
    """The statement, its value if that is short or `wide`, and the location."""
    value = _brief(evidence.value, 2_000)
    if not wide and isinstance(evidence.value, dict):
        message = evidence.value.get("message")
        repeats = bool(finding.root) and isinstance(message, str) and finding.root in message
        shown = {**evidence.value, "message": ""} if repeats else evidence.value
        value = _summary(shown, evidence.says) or _settings(evidence)
    if not wide and evidence.source == "settings" and isinstance(evidence.value, str):
        value = value if evidence.value.strip().count("\n") < _MOST_LINES else ""  # a script, a list of rules
    if not wide and isinstance(evidence.value, list):
        value = _names(evidence.value)
    root = one_line(finding.root or "")
    is_repeated = len(root) >= _LONG_REASON and root in value  # a short one needs its context
    if not wide and len(value) > _LONGEST_VALUE:
        value = both_ends(value)
    if evidence.value is None and evidence.pointer:
        return f"{evidence.says}: not set ({_location(evidence)})"
    if evidence.value is None or not value or (not wide and is_repeated):
        return f"{evidence.says}: {_location(evidence)}"
    return f"{evidence.says}: {value} ({_location(evidence)})"


def _settings(evidence: Evidence) -> str:
    """Source or destination of an Application on one line: `path apps/shop, targetRevision main`."""
    values = evidence.value if isinstance(evidence.value, dict) else {}
    if evidence.source != "application" or evidence.pointer.rpartition("/")[2] not in _SHOWN_SETTINGS:
        return ""
    pairs = (
        f"{name} {one_line(value)}" for name, value in values.items() if isinstance(value, str) and value
    )
    return ", ".join(pairs)


def _names(values: list[Json]) -> str:
    """A short list of names, such as values files; empty if it is another list."""
    names = [one_line(value) for value in values if isinstance(value, str)]
    return ", ".join(names) if len(names) == len(values) <= _MOST_NAMES else ""


def _location(evidence: Evidence) -> str:
    """`live Pod shop/web /status`, `log of Pod shop/web, container web, line 3`."""
    if evidence.source == "application":
        return f"Application {evidence.pointer}"
    container, _, line = evidence.pointer.removeprefix("/").rpartition("/")
    if evidence.source == "log" and container and line.isdigit():
        name, dot, _ = container.partition(".previous")
        previous = " (previous)" if dot else ""
        return f"log of {evidence.ref}, container {name}{previous}, line {line}"
    source = "" if evidence.source in ("event", "project") else f"{evidence.source} "
    return f"{source}{evidence.ref} {evidence.pointer}"


def _summary(value: dict[str, Json], says: str) -> str:
    """Type, status, reason, exit code and message of a condition or of a terminated container."""
    kind, status, reason = (one_line(text(value.get(name))) for name in ("type", "status", "reason"))
    state = f"{kind} is {status}" if kind and status not in ("", "True") else kind
    head = [part for part in ("" if state and state in says else state, reason) if part]
    code = value.get("exitCode")
    if isinstance(code, int):
        head.append(f"exit code {code}")
    message = value.get("message")
    return ": ".join(
        [", ".join(head), *([one_line(message, 200)] if isinstance(message, str) and message else [])]
    ).strip(": ")


def _fixes(
    finding: Finding,
    report: AppReport,
    terminal: Terminal,
    *,
    wide: bool,
    proofs: bool,
    first: bool,
    source_flags: str | None,
) -> Iterator[str]:
    """The first fix of the first finding in full, the others by title and risk; with `-o wide` all in full.

    A finding of low confidence has no fix to apply yet: read-only commands check it first.
    """
    numbered = list(enumerate(finding.fixes, start=1))
    in_full = numbered if wide or proofs else numbered[: 1 if first else 0]
    word = "fix"
    if is_doubtful(finding) and not (wide or proofs):
        word, in_full = _CANDIDATE, []
        numbered = [(number, fix) for number, fix in numbered if not _only_reads(fix)]
    if is_doubtful(finding):
        for index, command in enumerate(checks_for(finding, report.case)):
            yield f"{'' if index else '    check':<{LABEL_WIDTH}}{command}"
    for number, fix in in_full:
        label = _label(word, number, finding)
        can_apply = number == 1 and first and source_flags is not None and _is_applicable(finding, report)
        apply = _how_to_apply(fix, report, source_flags or "") if can_apply else ""
        yield from _fix(label, fix, report, terminal, wide=wide, proofs=proofs, apply=apply)
    rest = numbered[len(in_full) :]
    for number, fix in rest:
        yield from fix_title(terminal, _label(word, number, finding), fix)
        yield from _dangers(fix, terminal)
    if rest:
        yield f"{'':<{LABEL_WIDTH}}{terminal.paint('(-o wide shows the steps)', 'dim')}"
    if wide or proofs:
        for rejected in rejected_in(finding):
            yield from terminal.labeled("rejected", rejected, "red")


def _label(word: str, number: int, finding: Finding) -> str:
    return word if len(finding.fixes) == 1 or word == _CANDIDATE else f"{word} {number}"


def is_doubtful(finding: Finding) -> bool:
    """Is it only a possible cause? Then something has to be checked before anything is changed."""
    return finding.confidence is Confidence.LOW


def _only_reads(fix: Fix) -> bool:
    commands = [words for command in fix.commands if (words := words_of(command))]
    return bool(commands) and all(map(is_read_only, commands))


def _fix(
    label: str, fix: Fix, report: AppReport, terminal: Terminal, *, wide: bool, proofs: bool, apply: str
) -> Iterator[str]:
    yield from fix_title(terminal, label, fix)
    if fix.location is not None:
        yield from terminal.labeled("", f"in {one_line(str(fix.location))}")
    for note in notes_of(fix, everything=wide or proofs):
        yield from terminal.labeled("", note)
    yield from _dangers(fix, terminal)
    yield from _patch(fix, report, terminal, wide=wide)
    if apply:  # not wrapped, so that it can be copied
        yield f"    {terminal.paint('apply', 'dim')}{'':<{LABEL_WIDTH - 9}}{apply}"
    for index, step in enumerate(noteworthy_commands(fix, report.case)):
        yield f"{'' if index else '    then':<{LABEL_WIDTH}}{step}"
    if proofs:
        yield from (f"{'':<{LABEL_WIDTH}}{line}".rstrip() for line in fix.proof.trace)


def _dangers(fix: Fix, terminal: Terminal) -> Iterator[str]:
    """What can go wrong and what is lost; also for a fix of which only the title is shown."""
    if fix.risk:
        yield from terminal.labeled("", f"risk: {one_line(fix.risk)}")
    if fix.destroys:
        lost = terminal.wrap(f"destroys: {one_line(', '.join(fix.destroys))}", indent=LABEL_WIDTH)
        yield from (terminal.paint(line, "red") for line in lost)


def fix_title(terminal: Terminal, label: str, fix: Fix) -> Iterator[str]:
    """Title and proof mark of a fix; the mark is below the title if it does not fit on the line."""
    title, mark = one_line(fix.title), mark_of(fix, terminal)
    color = "red" if fix.destroys else "green"
    lines = list(terminal.labeled(label, title, color))
    if (
        mark
        and LABEL_WIDTH + len(terminal.wrap(title, indent=LABEL_WIDTH)[-1].strip()) + 3 + len(mark)
        <= terminal.width
    ):
        lines[-1] += f"   {terminal.paint(mark, color)}"
    elif mark:
        lines.append(f"{'':<{LABEL_WIDTH}}{terminal.paint(mark, color)}")
    yield from lines


def _is_applicable(finding: Finding, report: AppReport) -> bool:
    """Can `whysync fix` apply the first fix? Not a chart in no checkout, or an object it has not read."""
    first = next(iter(finding.fixes), None)
    if first is None or first.commands or is_doubtful(finding):
        return False
    if is_in_git(first):
        return not any(source.chart for source in edited_sources(report.case))
    return first.create is not None or _has_commands(first, report.case)


def _has_commands(fix: Fix, case: Case) -> bool:
    try:
        return bool(as_commands(fix, case))
    except Refused:
        return False


def _how_to_apply(fix: Fix, report: AppReport, source_flags: str) -> str:
    """The command that applies the fix to a checkout, or to the object itself."""
    command = f"whysync fix {app_argument(report.case) + source_flags}"
    if is_in_git(fix):
        return f"{command} --checkout {_checkout_of(report)} --write"
    return f"{command} -o yaml | kubectl apply -f -" if fix.create is not None else f"{command} -o commands"


def _checkout_of(report: AppReport) -> str:
    """The checkout that the manifests were rendered from, if there is one."""
    rendering = report.case.rendering
    folders = [files.location for files in rendering.files] if rendering is not None else []
    return next((shlex.quote(folder) for folder in folders if folder.startswith("/")), "DIR")


def _patch(fix: Fix, report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """The whole patch if it is short; otherwise the changed lines."""
    lines = patch_text(fix, report.case).splitlines()
    is_diff = fix.kind is FixKind.MANIFEST and (bool(fix.edits) or fix.drops)
    if len(lines) > _LONGEST_PATCH and not wide:
        changed = [*lines[:1], *(line for line in lines if line[:1] in "+-")] if is_diff else []
        rest = len(lines) - min(len(changed or lines), _LONGEST_PATCH)
        lines = [*(changed or lines)[:_LONGEST_PATCH], f"({rest} more lines: -o wide)"]
    if is_diff and lines:  # the first line is prose: it names the object and where it is declared
        head = terminal.wrap(lines[0].removeprefix("# "), indent=LABEL_WIDTH + 2)
        lines[:1] = [f"# {line.strip()}" for line in head]
    for line in lines:
        color = _DIFF_COLORS.get(line[:1], "") if is_diff else ""
        yield f"{'':<{LABEL_WIDTH}}{terminal.paint(line, color) if color else line}".rstrip()


def _consequences(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Findings that follow from another one; informational ones show how to prevent it next time."""
    consequences = [f for f in report.findings if f.caused_by and not _adds_nothing(f, report)]
    if consequences:
        yield ""
    for finding in consequences:
        is_info = finding.severity is Severity.INFO
        text = one_line(finding.verdict)
        if is_info and finding.fixes and not (_is_discouraged(report) and _syncs(finding.fixes[0])):
            text += f" {terminal.mark('arrow')} {one_line(finding.fixes[0].title)} (-o wide)"
        lines = terminal.wrap(text, indent=LABEL_WIDTH, first="    also" if is_info else "    consequences")
        yield from (terminal.paint(line, "dim") for line in lines)


def _adds_nothing(consequence: Finding, report: AppReport) -> bool:
    """Does the first finding say it already, or does its first fix do what this one asks for?"""
    first = report.first
    if first is None or consequence is first:
        return False
    if consequence.severity is not Severity.INFO:  # the health of the object, of which the cause is known
        one, other = first.about, consequence.about
        same = (one.kind, one.namespace, one.name) == (other.kind, other.namespace, other.name)
        return same and consequence.cause == _DEGRADED
    fix = next(iter(first.fixes), None)
    if fix is None or is_doubtful(first):
        return False
    if consequence.cause == _GIVEN_UP and not consequence.fixes:
        steps = (*fix.commands, *noteworthy_commands(fix, report.case))
        return is_in_git(fix) or any(map(is_sync, steps))
    asked = consequence.fixes[0].commands if consequence.fixes else ()
    return bool(asked) and {*asked} <= {*fix.commands}


def _is_discouraged(report: AppReport) -> bool:
    """Is a sync harmful, or of no use?"""
    safety = report.safety
    useless = any(reason.kind in _USELESS for reason in safety.reasons)
    return safety.sync is not SyncSafety.SAFE or useless


def _syncs(fix: Fix) -> bool:
    return any(map(is_sync, fix.commands))


def _safety(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Whether to sync now: directly below the headline, with the verdict in color."""
    verdict, reasons = sync_verdict(report)
    label = "  sync now?"
    lines = terminal.wrap(_sentence(verdict, reasons), indent=len(label) + 3, first=label)
    painted = terminal.paint(verdict, "bold", _VERDICT_COLORS[verdict])
    lines[0] = lines[0].replace(label, terminal.paint(label, "dim"), 1).replace(verdict, painted, 1)
    yield from lines


def sync_verdict(report: AppReport) -> tuple[SyncVerdict, str]:
    """The verdict on a sync now, and its reasons."""
    safety = report.safety
    verdict = _VERDICTS[safety.sync]
    first = safety.reasons[0].kind if safety.reasons else None
    fails = safety.outcome is SyncOutcome.FAILS or first is ReasonKind.FAILED_BEFORE
    if verdict is not SyncVerdict.UNSAFE and (fails or first in _NOT_NOW):
        verdict = SyncVerdict.NOT_NOW
    elif verdict is SyncVerdict.SAFE and first in _BUT:
        verdict = SyncVerdict.SAFE_BUT
    # why the safety is not known does not matter if the sync is of no use
    hidden = ReasonKind.FACTS_MISSING if verdict is SyncVerdict.NOT_NOW else None
    reasons = "; ".join(one_line(reason.text) for reason in safety.reasons if reason.kind is not hidden)
    return verdict, reasons if verdict is SyncVerdict.SAFE_BUT else f"{reasons[:1].upper()}{reasons[1:]}"


def _sentence(verdict: SyncVerdict, reasons: str) -> str:
    if not reasons:
        return verdict
    return f"{verdict}{' ' if verdict is SyncVerdict.SAFE_BUT else '. '}{reasons}"


def _remainder(report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """Unexplained symptoms, facts that could not be read, and rules that failed: never dropped."""
    unexplained = [s for s in report.unexplained if not s.unread and not _is_of_finding(s, report)]
    for symptom in unexplained[:_MOST_UNEXPLAINED]:
        yield from terminal.labeled("unexplained", one_line(symptom.text), "yellow")
    more = len(unexplained) - _MOST_UNEXPLAINED
    if more > 0:
        yield from terminal.labeled("", f"and {more} more (-o json has them all)")
    yield from _not_understood(report, terminal, wide=wide)
    if report.first is None and report.unexplained:
        for index, command in enumerate(_checks_of_unexplained(report)):
            yield f"{'' if index else '    check':<{LABEL_WIDTH}}{command}"
    yield from _rollout(report, terminal)
    yield from _rendering(report, terminal)
    yield from _gaps(report.gaps, terminal)
    for crashed in report.crashed:
        text = f"rule {crashed.rule} failed: {crashed.error}; please report it"
        yield from terminal.labeled("not checked", one_line(text), "yellow")
    unmet = sorted(_unmet(report))
    if unmet and (report.findings or report.unexplained):
        yield from terminal.labeled("not provided", ", ".join(unmet))
    elif {Fact.DESIRED, Fact.LIVE} <= set(unmet):
        yield from terminal.labeled("checked", _checked(report.case))
        yield from terminal.labeled("not provided", ", ".join(unmet))


def _rollout(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Why the rolling sync of its ApplicationSet does not sync the app now."""
    member = rollout_of(report.case)
    if member is not None:
        name = owner_of_kind(report.case.application, APPLICATION_SET)
        state = f"{member.status or 'not begun'}{f': {member.waits}' if member.waits else ''}"
        place = f"step {member.step} of " if member.step > 0 else ""
        text = f"{place}ApplicationSet {name}, {state} (whysync diagnose appset/{name})"
        yield from terminal.labeled("rollout", one_line(text))


def _rendering(report: AppReport, terminal: Terminal) -> Iterator[str]:
    """Where the manifests come from, if whysync rendered them itself."""
    rendering = report.case.rendering
    if rendering is not None and rendering.is_desired:
        yield from terminal.labeled("manifests", f"rendered from {one_line(rendering.words)}")


def _is_of_finding(symptom: Symptom, report: AppReport) -> bool:
    """Is it the state of an object that a finding is about, or of the app that waits for it?"""
    if symptom.kind is SymptomKind.OPERATION:
        return any(id.kind is SymptomKind.RESULT for finding in report.findings for id in finding.explains)
    if symptom.side is not Side.HEALTH:
        return False
    if symptom.ref is None:
        return bool(report.findings)
    return any(finding.about.key == symptom.ref.key for finding in report.findings)


def _checks_of_unexplained(report: AppReport) -> Iterator[str]:
    """Where to look if no rule explains the state: at the comparison, or at the objects themselves."""
    refs = [symptom.ref for symptom in report.unexplained if symptom.ref is not None]
    if report.side is Side.HEALTH:
        yield from unhealthy_checks(report.case, refs)
    else:
        yield from side_checks(report.side, report.case)
    if report.side is Side.DRIFT:
        yield from writer_checks(report.case, refs)


def _checked(case: Case) -> str:
    """The revisions that the app follows, and whether new commits are synced by themselves."""
    revisions = [
        f"{'is pinned to' if is_pinned(source) else 'follows'} {source.target_revision or 'HEAD'} of"
        f" {f'chart {source.chart}' if source.chart else source.repo_url}"
        for source in case.app.sources
    ]
    how = "auto-sync is off"
    if case.is_automated:
        new = "versions" if all(source.chart for source in case.app.sources) else "commits"
        pinned = all(map(is_pinned, case.app.sources))
        how = "auto-sync is on" if pinned else f"new {new} are synced automatically"
    return f"the Application's status; it {', '.join(revisions) or 'follows no source'}; {how}"


def _gaps(gaps: Sequence[Gap], terminal: Terminal) -> Iterator[str]:
    for gap in gaps[:_MOST_GAPS]:
        help = f"; {gap.how_to_get}" if gap.how_to_get else ""
        yield from terminal.labeled("not readable", one_line(f"{gap.what}: {gap.why}{help}"), "yellow")
    if len(gaps) > _MOST_GAPS:
        yield from terminal.labeled("", f"and {len(gaps) - _MOST_GAPS} more gaps (-o json)")


def _not_understood(report: AppReport, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """Messages that no pattern matches, by object; after a certain finding only those it does not explain."""
    certain = report.first is not None and report.first.confidence is Confidence.HIGH
    symptoms = report.unexplained if certain and not wide else report.not_understood
    texts: dict[str, list[str]] = {}
    for symptom in symptoms:
        if symptom.unread:
            texts.setdefault(str(symptom.ref or report.case.application.ref), []).append(symptom.words)
    if texts:
        yield f"    {terminal.paint('reported, not understood', 'yellow')}"
    quotes = [(about, quote) for about, reported in texts.items() for quote in dict.fromkeys(reported)]
    limit = len(quotes) if wide else _MOST_UNEXPLAINED
    for number, (about, quote) in enumerate(quotes[:limit]):
        if not number or quotes[number - 1][0] != about:
            yield f"      {terminal.paint(about, 'cyan')}"
        yield from terminal.wrap(one_line(quote), indent=8)
    if len(quotes) > limit:
        yield f"      and {len(quotes) - limit} more (-o wide)"
