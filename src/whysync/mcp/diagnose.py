"""Tool `diagnose`: why one app is not Synced and Healthy, whether a sync is safe, and what fixes it.

The short answer is complete for most questions and below 4 KB. `detail: full` returns every finding, piece of
evidence, fix, unexplained symptom and gap, in pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import AppReport
from whysync.fixes.patches import patch_text
from whysync.history.history import History, IncidentFilter
from whysync.json_tree import Json
from whysync.mcp.answers import FEW_BYTES, Page, Value, first_that_fits
from whysync.mcp.arguments import AppName, Arguments, CursorText, Limit
from whysync.mcp.context import ToolContext, page_of, reading_of_app
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import Untrusted, name, untrusted, untrusted_lines
from whysync.reports.diagnose_text import answer_of, state_of, sync_verdict
from whysync.reports.proof_text import proof_mark

_MOST_OTHERS = 3
_MOST_PATCH = 6_000
_MOST_INCIDENTS = 10_000


class Diagnose(Arguments, frozen=True, kw_only=True):
    app: AppName
    detail: Annotated[
        Literal["short", "full"],
        msgspec.Meta(description="short: the answer below 4 KB; full: everything, in pages"),
    ] = "short"
    limit: Limit = 50
    cursor: CursorText = ""


class SyncAnswer(Value, frozen=True, kw_only=True):
    """Is it safe to sync now? `safe`: nothing is lost or interrupted. `outcome`: whether it would work."""

    safe: str
    outcome: str
    verdict: str
    why: Untrusted | None = None


class FixAnswer(Value, frozen=True, kw_only=True):
    """`proof`: proven or likely in a simulation of the cluster, destructive, or not-run."""

    title: Untrusted
    proof: str
    kind: str
    risk: Untrusted | None = None
    destroys: tuple[Untrusted, ...] = ()
    patch: Untrusted | None = None


class OtherCause(Value, frozen=True, kw_only=True):
    cause: str
    why: Untrusted


class Detail(Value, frozen=True, kw_only=True):
    """One row of the full diagnosis; `finding` is the number of the finding that it belongs to."""

    kind: Literal[
        "finding", "evidence", "fix", "rejected-fix", "unexplained", "not-understood", "gap", "failed-rule"
    ]
    text: Untrusted
    finding: int = 0
    cause: str = ""
    caused_by: tuple[int, ...] = ()
    where: Untrusted | None = None
    value: Untrusted | None = None


class Diagnosis(Page, frozen=True, kw_only=True):
    app: str
    state: Untrusted
    answer: Untrusted
    cause: str = ""
    rule: str = ""
    severity: str = ""
    confidence: str = ""
    root: Untrusted | None = None
    sync: SyncAnswer | None = None
    evidence: tuple[Untrusted, ...] = ()
    fixes: tuple[FixAnswer, ...] = ()
    others: tuple[OtherCause, ...] = ()
    not_shown: str = ""
    details: tuple[Detail, ...] = ()
    next: str = ""


class _Room(msgspec.Struct, frozen=True):
    """How much of a diagnosis is shown."""

    text: int
    evidence: int
    fixes: int
    patch: int
    others: int


_ROOMS = (
    _Room(400, 6, 3, 900, 3),
    _Room(300, 4, 2, 600, 3),
    _Room(300, 4, 1, 900, 2),
    _Room(260, 3, 1, 500, 2),
    _Room(220, 2, 1, 300, 1),
    _Room(160, 1, 1, 0, 0),
    _Room(80, 0, 1, 0, 0),
)


def answer(arguments: Diagnose, context: ToolContext) -> Diagnosis:
    reading, offset = context.start_of_page("diagnose", arguments)
    if context.history is not None and not context.has_source:
        return _from_history(arguments.app, context.history)
    facts = reading_of_app(context, arguments.app, reading)
    report = facts.diagnosis(arguments.app, context.deadline)
    if arguments.detail == "short":
        return first_that_fits((_short(report, room) for room in _ROOMS), FEW_BYTES)
    details = tuple(_details(report))

    def build(shown: Sequence[Detail]) -> Diagnosis:
        return msgspec.structs.replace(_heading(report, 400), details=tuple(shown))

    return page_of("diagnose", arguments, facts.id, details, build, offset=offset, most_items=arguments.limit)


def _from_history(app: str, history: History) -> Diagnosis:
    """The open incident of an app, if the server has only the history of `whysync serve`."""
    incidents = history.incidents(IncidentFilter(open=True, limit=_MOST_INCIDENTS))
    matching = [one for one in incidents if app in (one.app.name, str(one.app), "/".join(one.app[1:]))]
    if len(matching) != 1:
        names = ", ".join(name(str(one.app)) for one in matching[:_MOST_OTHERS])
        raise ToolError(
            what=f"{len(matching)} open incidents have the app {name(app)}",
            why=f"they are {names}" if names else "this server only has the history of whysync serve",
            next="call list_incidents with open: true and use a name from there",
        )
    incident = matching[0]
    problem = incident.problem
    fix = FixAnswer(title=untrusted(problem.fix, 300), proof="not-run", kind="") if problem.fix else None
    return Diagnosis(
        app=name(str(incident.app)),
        state=untrusted(f"broken since {incident.opened_at:%Y-%m-%d %H:%M} UTC", 120),
        answer=untrusted(problem.verdict),
        cause=name(problem.cause),
        rule=name(problem.rule),
        severity=name(problem.severity),
        root=untrusted(problem.root) if problem.root else None,
        fixes=(fix,) if fix is not None else (),
        next="this is the recorded cause; a server with --server, --core or --bundle has evidence and proofs",
    )


def _heading(report: AppReport, longest: int) -> Diagnosis:
    first = report.first
    return Diagnosis(
        app=name(report.case.qualified_name),
        state=untrusted(state_of(report), 120),
        answer=untrusted(answer_of(report), longest),
        cause=first.cause if first else "",
        rule=first.rule if first else "",
        severity=first.severity.value if first else "",
        confidence=first.confidence.value if first else "",
        root=untrusted(first.root, longest) if first is not None and first.root else None,
        sync=_sync(report, longest) if report.findings or report.unexplained else None,
    )


def _short(report: AppReport, room: _Room) -> Diagnosis:
    first = report.first
    fixing = next((finding for finding in report.findings if finding.fixes), None)
    others = [finding for finding in report.findings[1:] if not finding.caused_by]
    return msgspec.structs.replace(
        _heading(report, room.text),
        evidence=tuple(_evidence_line(piece, room.text) for piece in first.evidence[: room.evidence])
        if first is not None
        else tuple(untrusted(symptom.text, room.text) for symptom in report.unexplained[: room.evidence]),
        fixes=tuple(_fix(fix, report, room) for fix in fixing.fixes[: room.fixes]) if fixing else (),
        others=tuple(
            OtherCause(cause=finding.cause, why=untrusted(finding.verdict, room.text // 2))
            for finding in others[: room.others]
        ),
        not_shown=_not_shown(report, fixing, room, shown_others=min(len(others), room.others)),
        next=_next(report),
    )


def _not_shown(report: AppReport, fixing: Finding | None, room: _Room, *, shown_others: int) -> str:
    first = report.first
    counts = {
        "evidence": len(first.evidence) - room.evidence if first else 0,
        "fixes": len(fixing.fixes) - room.fixes if fixing else 0,
        "findings": len(report.findings) - shown_others - 1,
        "unexplained symptoms": len(report.unexplained) - (0 if first else room.evidence),
        "facts that could not be read": len(report.gaps),
        "rules that failed": len(report.crashed),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count > 0)


def _next(report: AppReport) -> str:
    if report.findings:
        return (
            "detail: full shows everything; get_diff shows the differing fields; explain describes the cause"
        )
    if report.unexplained or report.is_unsure:
        return "detail: full shows the reported texts and what could not be read"
    return ""


def _sync(report: AppReport, longest: int) -> SyncAnswer:
    verdict, why = sync_verdict(report)
    return SyncAnswer(
        safe=report.safety.sync.value,
        outcome=report.safety.outcome.value,
        verdict=str(verdict),
        why=untrusted(why, longest) if why else None,
    )


def _fix(fix: Fix, report: AppReport, room: _Room) -> FixAnswer:
    patch = patch_text(fix, report.case) if room.patch else ""
    return FixAnswer(
        title=untrusted(fix.title, room.text),
        proof=proof_mark(fix).value,
        kind=fix.kind.value,
        risk=untrusted(fix.risk, room.text // 2) if fix.risk else None,
        destroys=tuple(untrusted(thing, 100) for thing in fix.destroys[:3]),
        patch=untrusted_lines(patch, room.patch) if patch else None,
    )


def _evidence_line(evidence: Evidence, longest: int) -> Untrusted:
    place = f"{evidence.ref} {evidence.pointer}".strip()
    return untrusted(f"{evidence.says}: {place} = {_value(evidence.value)}", longest)


def _value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _details(report: AppReport) -> Iterator[Detail]:
    numbers = {finding.id: number for number, finding in enumerate(report.findings, start=1)}
    for finding in report.findings:
        number = numbers[finding.id]
        yield Detail(
            kind="finding",
            text=untrusted(finding.verdict, 1_000),
            finding=number,
            cause=finding.cause,
            where=untrusted(str(finding.about), 300),
            caused_by=tuple(numbers[id] for id in finding.caused_by if id in numbers),
        )
        for evidence in finding.evidence:
            yield Detail(
                kind="evidence",
                text=untrusted(evidence.says, 300),
                finding=number,
                where=untrusted(f"{evidence.source} {evidence.ref} {evidence.pointer}", 400),
                value=untrusted(_value(evidence.value), 1_500),
            )
        for fix in finding.fixes:
            yield Detail(
                kind="fix",
                text=untrusted(f"{fix.title} (proof: {proof_mark(fix).value}) {fix.risk}", 600),
                finding=number,
                where=untrusted(", ".join(fix.destroys), 300) if fix.destroys else None,
                value=untrusted_lines(patch_text(fix, report.case), _MOST_PATCH),
            )
        for rejected in finding.rejected_fixes:
            yield Detail(
                kind="rejected-fix",
                text=untrusted(f"{rejected.title}: {rejected.why}", 600),
                finding=number,
            )
    yield from _remainder(report)


def _remainder(report: AppReport) -> Iterator[Detail]:
    """What no rule explains, what could not be read, and rules that failed."""
    for symptom in report.unexplained:
        where = untrusted(str(symptom.ref), 300) if symptom.ref is not None else None
        yield Detail(kind="unexplained", text=untrusted(symptom.text, 1_000), where=where)
    unexplained = {symptom.id for symptom in report.unexplained}
    for symptom in report.not_understood:
        if symptom.id not in unexplained:
            yield Detail(kind="not-understood", text=untrusted(symptom.text, 1_000))
    for gap in report.gaps:
        yield Detail(
            kind="gap",
            text=untrusted(f"{gap.what}: {gap.why}", 600),
            value=untrusted(gap.how_to_get, 400) if gap.how_to_get else None,
        )
    for crashed in report.crashed:
        yield Detail(kind="failed-rule", text=untrusted(f"{crashed.rule}: {crashed.error}", 400))
