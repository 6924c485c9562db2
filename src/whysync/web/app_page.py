"""`GET /apps/{instance}/{namespace}/{name}`: the answer, the chain, the diff, the sync, the fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.fixes.patches import patch_text
from whysync.history.history import History, IncidentFilter
from whysync.history.model import Incident
from whysync.json_tree import Json, Missing
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.api.yaml import dump
from whysync.kubernetes.field_writers import Ownership, phrase
from whysync.queries.recent_changes import recent_changes
from whysync.reports.app_diff import AppDiff, ResourceDiff, State
from whysync.reports.diagnose_text import SyncVerdict, answer_of, state_of, sync_verdict
from whysync.reports.output import Safe
from whysync.reports.proof_text import notes_of, rejected_in
from whysync.reports.terminal import one_line, short_age
from whysync.reports.xml_text import Xml, joined, lines_of, tag
from whysync.reports.yaml_diff import TooLong, side_by_side
from whysync.watch.fleet import AppState, Fleet
from whysync.web.access import Viewer
from whysync.web.page import (
    app_url,
    cause_chip,
    counted,
    duration,
    health_badge,
    moment,
    page,
    severity_badge,
    sync_badge,
    with_query,
)
from whysync.web.sync_picture import sync_picture
from whysync.web.timeline import timeline

_VERDICT_CLASSES: Final = {
    SyncVerdict.SAFE: "good",
    SyncVerdict.SAFE_BUT: "wait",
    SyncVerdict.UNSAFE: "bad",
    SyncVerdict.NOT_NOW: "wait",
    SyncVerdict.UNKNOWN: "none",
}
_SEEN_LATE: Final = timedelta(minutes=2)
"""If whysync has seen the app broken this long after it broke, the page shows both times."""
_MOST_FINDINGS: Final = 20
_MOST_EVIDENCE: Final = 12
_MOST_DIFFS: Final = 20
_MOST_LINES: Final = 400


def app_page(state: AppState, fleet: Fleet, history: History, viewer: Viewer) -> Safe:
    title = f"{state.key.name}: {answer_of(state.report) or state_of(state.report)}"
    return page(title, _body(state, fleet, history), fleet=fleet, viewer=viewer)


class _Section(NamedTuple):
    """A part of the page with an address of its own."""

    id: str
    title: str
    number: int
    content: tuple[Xml, ...]


def _body(state: AppState, fleet: Fleet, history: History) -> Iterator[Xml]:
    sections = tuple(_sections(state, fleet, history))
    yield _head(state, fleet, history)
    yield _answer(state, fleet)
    yield Xml('<div class="app-page">')
    yield _contents(sections)
    yield Xml('<div class="app-parts">')
    for section in sections:
        yield _panel(section)
    yield _raw(state)
    yield Xml("</div></div>")


def _sections(state: AppState, fleet: Fleet, history: History) -> Iterator[_Section]:
    report = state.report
    findings = report.findings[:_MOST_FINDINGS]
    if findings:
        yield _Section("why", "Why", len(findings), tuple(_chain(findings, report, state)))
    fixing = [finding for finding in findings if finding.fixes or finding.rejected_fixes]
    if fixing:
        number = sum(len(finding.fixes) for finding in fixing)
        yield _Section("fixes", "Fixes", number, tuple(_fixes(fixing, state, fleet)))
    yield from _unexplained(report)
    yield from _diff(report.case)
    picture = sync_picture(report.case, fleet.now())
    if picture:
        yield _Section("sync", "Last sync", 0, picture)
    yield from _recent_changes(report, fleet)
    yield _history(state, fleet, history)
    yield from _gaps(report)


def _panel(section: _Section) -> Xml:
    title: list[Xml | str] = [tag("a", section.title, href=f"#{section.id}", class_="anchor")]
    if section.number:
        title += [" ", tag("span", f"{section.number:,}", class_="number")]
    return tag(
        "section",
        tag("h2", *title, id=section.id),
        joined(section.content, "\n"),
        class_="panel",
        aria_labelledby=section.id,
    )


def _contents(sections: Sequence[_Section]) -> Xml:
    """Links to the parts of the page."""
    links = [
        tag(
            "li",
            tag(
                "a",
                section.title,
                tag("span", f" {section.number:,}" if section.number else "", class_="number"),
                href=f"#{section.id}",
            ),
        )
        for section in sections
    ]
    return tag("nav", tag("ul", *links), class_="contents", aria_label="On this page")


# --- the answer -------------------------------------------------------------------------------------------


def _head(state: AppState, fleet: Fleet, history: History) -> Xml:
    row = state.row
    facts = [
        ("project", row.project),
        ("namespace", row.destination),
        ("cluster", row.cluster),
        ("sync policy", row.policy),
        ("Argo CD", f"{state.key.instance} / {state.key.namespace}"),
    ]
    items = [tag("div", tag("dt", name), tag("dd", one_line(value, 120))) for name, value in facts if value]
    return tag(
        "div",
        tag("p", tag("a", "Fleet", href="/"), " / ", one_line(state.key.instance, 60), class_="crumbs soft"),
        tag(
            "div",
            tag("h1", one_line(state.key.name, 200)),
            tag("div", sync_badge(row.sync), " ", health_badge(row.health), class_="badges"),
            _broken_for(state, fleet, history),
            class_="title",
        ),
        tag("dl", *items, class_="facts"),
        class_="app-head",
        data_page_app=str(state.key),
    )


def _broken_for(state: AppState, fleet: Fleet, history: History) -> Xml | str:
    """Since when the app is broken: as its status tells, or since whysync has seen it."""
    if not state.broken:
        return ""
    incident = history.open_incident(state.key)
    seen = incident.opened_at if incident is not None else None
    if state.since is not None and (seen is None or state.since <= seen):
        text = tag("span", "broken for ", duration(state.since, fleet.now()), class_="soft")
        is_late = seen is not None and seen - state.since >= _SEEN_LATE
        return joined(
            (text, tag("span", "first seen ", moment(seen, fleet.now()), class_="soft") if is_late else "")
        )
    return tag("span", "broken since it was seen ", moment(seen, fleet.now()), class_="soft") if seen else ""


def _answer(state: AppState, fleet: Fleet) -> Xml:
    report = state.report
    answer = answer_of(report)
    if not report.findings and not report.unexplained:
        text = (
            "Synced and Healthy: nothing is wrong."
            if not report.is_unsure
            else answer or "Nothing was found."
        )
        return tag("section", tag("p", text, class_="headline"), class_="answer edge-good")
    first = report.first
    severity = first.severity.value if first else "warning"
    verdict, reasons = sync_verdict(report)
    simulated = state.proven or not state.broken or not fleet.proves
    meta: list[Xml | str] = []
    if first is not None:
        meta = [severity_badge(severity), " ", cause_chip(first.cause)]
        meta.append(tag("span", f" · confidence {first.confidence.value}", class_="soft"))
    sync_text = [
        tag("b", "Sync now?"),
        " ",
        tag("span", verdict.value, class_=f"badge big {_VERDICT_CLASSES[verdict]}"),
        " ",
        one_line(reasons, 800),
    ]
    if not simulated:
        sync_text = [tag("b", "Sync now?"), " ", tag("span", "being simulated …", class_="soft")]
    return tag(
        "section",
        tag("p", one_line(answer, 800), class_="headline"),
        tag("p", *meta, "", class_="meta"),
        tag("p", *sync_text, class_="sync-now"),
        *_first_fix(report, state, fleet),
        class_=f"answer edge-{severity}",
    )


def _first_fix(report: AppReport, state: AppState, fleet: Fleet) -> Iterator[Xml]:
    """The fix that comes first below, so that the answer is complete without scrolling."""
    fix = next((fix for finding in report.findings[:_MOST_FINDINGS] for fix in finding.fixes), None)
    if fix is not None:
        yield tag(
            "p",
            tag("b", "First fix"),
            " ",
            tag("a", one_line(fix.title, 300), href="#fix-1"),
            " ",
            _proof_badge(fix, state, fleet),
            class_="first-fix",
        )


# --- the chain --------------------------------------------------------------------------------------------


def _chain(findings: Sequence[Finding], report: AppReport, state: AppState) -> Iterator[Xml]:
    """Root causes first; what they cause hangs below them."""
    ids = {finding.id for finding in findings}
    roots = [finding for finding in findings if not (set(finding.caused_by) & ids)]
    shown: set[str] = set()
    for finding in roots or findings[:1]:
        yield from _with_effects(finding, findings, report, state, shown, depth=0)
    for finding in findings:
        if finding.id not in shown:
            yield from _with_effects(finding, findings, report, state, shown, depth=0)


def _with_effects(
    finding: Finding,
    findings: Sequence[Finding],
    report: AppReport,
    state: AppState,
    shown: set[str],
    *,
    depth: int,
) -> Iterator[Xml]:
    if finding.id in shown:
        return
    shown.add(finding.id)
    yield _finding(finding, report, state, depth)
    for other in findings:
        if finding.id in other.caused_by:
            yield from _with_effects(other, findings, report, state, shown, depth=min(depth + 1, 3))


def _finding(finding: Finding, report: AppReport, state: AppState, depth: int) -> Xml:
    about = one_line(f"{finding.about} {finding.field or ''}", 300)
    lead = tag("span", "which causes", class_="soft causes") if depth else ""
    parts = [
        lead,
        tag("h3", one_line(finding.verdict, 800)),
        tag(
            "p",
            severity_badge(finding.severity.value),
            " ",
            cause_chip(finding.cause),
            tag("span", f" · {about} · confidence {finding.confidence.value}", class_="soft"),
            class_="meta",
        ),
    ]
    if finding.writer is not None:
        parts.append(tag("p", "Written by ", tag("b", one_line(finding.written_by, 200))))
    if finding.evidence:
        steps = [
            _evidence(evidence, report.case, state, of=finding.id)
            for evidence in finding.evidence[:_MOST_EVIDENCE]
        ]
        parts.append(tag("ol", *steps, class_="evidence"))
    if finding.root and not depth:
        badge = tag("span", "Root cause", class_="badge sev-critical")
        parts.append(tag("p", badge, " ", tag("b", one_line(finding.root, 600)), class_="root"))
    elif finding.root:
        parts.append(tag("p", tag("b", "Because: "), one_line(finding.root, 600)))
    return tag("article", *parts, class_=f"finding depth-{depth}")


def _evidence(evidence: Evidence, case: Case, state: AppState, *, of: str) -> Xml:
    """One step of a finding. Two findings may cite the same."""
    location = one_line(f"{evidence.ref} {evidence.pointer}", 300)
    value = _brief(evidence.value)
    summary = tag(
        "summary",
        tag("span", one_line(evidence.says, 300), class_="says"),
        " ",
        tag("code", value) if value else "",
        " ",
        tag("span", f"{one_line(evidence.source, 20)}: {location}", class_="soft where"),
    )
    whole = with_query(
        f"{app_url(state.key)}/objects",
        {
            "source": evidence.source,
            "group": evidence.ref.group,
            "kind": evidence.ref.kind,
            "namespace": evidence.ref.namespace,
            "name": evidence.ref.name,
        },
    )
    link = (
        tag("p", tag("a", "Show the whole object", href=whole))
        if object_of(case, evidence.source, evidence.ref.key)
        else ""
    )
    return tag(
        "li",
        tag(
            "details", summary, _code(_excerpt(evidence)), link, data_key=f"{of} {evidence.source} {location}"
        ),
    )


def _brief(value: Json) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    return one_line(f"{value}", 160)


def _excerpt(evidence: Evidence) -> str:
    """The cited value with the path to it, as YAML; a log line as it is."""
    if evidence.source == "log":
        return f"{evidence.value}"
    value: Json = evidence.value
    for part in reversed(pointer.split(evidence.pointer)):
        value = [value] if part.isdecimal() else {part: value}
    if not isinstance(value, dict | list):
        return f"{value}"
    return dump(value)


def object_of(case: Case, source: str, key: Key) -> Manifest | None:
    """The object that evidence cites, with secrets masked."""
    if key == case.application.key:
        return case.application
    if source == "desired":
        return case.desired_of(key)
    snapshot = case.index.snapshot
    others = (*snapshot.projects, *snapshot.settings, *snapshot.events)
    return case.live_of(key) or next((other for other in others if other.key == key), None)


def _code(text: str, *, id: str = "") -> Xml:
    block = joined(lines_of(text, _MOST_LINES), "\n")
    return (
        tag("pre", tag("code", block), id=id, tabindex="0")
        if id
        else tag("pre", tag("code", block), tabindex="0")
    )


# --- fixes ------------------------------------------------------------------------------------------------


def _fixes(findings: Sequence[Finding], state: AppState, fleet: Fleet) -> Iterator[Xml]:
    number = 0
    for finding in findings:
        if len(findings) > 1:
            yield tag("p", f"For: {one_line(finding.verdict, 300)}", class_="soft for")
        for fix in finding.fixes:
            number += 1
            yield _fix(fix, number, state, fleet)
        for rejected in rejected_in(finding):
            yield tag(
                "p", tag("span", "does not help", class_="badge none"), " ", rejected, class_="rejected"
            )


def _fix(fix: Fix, number: int, state: AppState, fleet: Fleet) -> Xml:
    title = tag("h3", f"{number}. {one_line(fix.title, 300)} ", _proof_badge(fix, state, fleet))
    parts: list[Xml] = [title]
    parts += [tag("p", note, class_="soft") for note in notes_of(fix, everything=state.proven)]
    if fix.risk:
        parts.append(tag("p", tag("b", "Risk: "), one_line(fix.risk, 600)))
    if fix.destroys:
        parts.append(tag("p", tag("b", "Destroys: "), one_line(", ".join(fix.destroys), 600), class_="bad"))
    text = patch_text(fix, state.report.case)
    if text:
        id = f"fix-{number}-text"
        painted = joined(map(_painted, lines_of(text, _MOST_LINES)), "\n")
        parts.append(
            tag(
                "div",
                tag(
                    "button",
                    "Copy",
                    type="button",
                    class_="copy",
                    data_copy=f"{id}",
                    aria_label=f"Copy fix {number}",
                ),
                tag("pre", tag("code", painted), id=id, tabindex="0"),
                class_="code-box",
            )
        )
    if fix.proof.trace:
        trace = "\n".join(fix.proof.trace)
        parts.append(
            tag("details", tag("summary", "How it was tried"), _code(trace), data_key=f"trace {number}")
        )
    return tag("article", *parts, class_="fix", id=f"fix-{number}")


def _proof_badge(fix: Fix, state: AppState, fleet: Fleet) -> Xml:
    if fix.destroys:
        return tag("span", "destructive", class_="badge bad")
    match fix.proof.status:
        case ProofStatus.PROVEN:
            return tag("span", "✓ proven", class_="badge good")
        case ProofStatus.LIKELY:
            return tag("span", "likely", class_="badge wait")
        case ProofStatus.NOT_RUN:
            is_waiting = fleet.proves and not state.proven
            return tag("span", "being simulated" if is_waiting else "not proven", class_="badge none")


def _painted(line: Xml) -> Xml:
    if line.startswith(("+++", "---")):
        return line
    css_class = {"+": "plus", "-": "minus", "#": "soft"}.get(line[:1])
    return tag("span", line, class_=css_class) if css_class else line


# --- the diff ---------------------------------------------------------------------------------------------


def _diff(case: Case) -> Iterator[_Section]:
    diff = AppDiff(case, selects=lambda _: True)
    changed = diff.in_state(State.DIFFERS, State.MISSING, State.EXTRA)
    if not changed:
        return
    equal = len(diff.in_state(State.EQUAL))
    parts = [_resource_diff(resource) for resource in changed[:_MOST_DIFFS]]
    if len(changed) > _MOST_DIFFS:
        parts.append(
            tag("p", f"and {len(changed) - _MOST_DIFFS} more resources: whysync diff", class_="soft")
        )
    parts.append(tag("p", f"{equal} other resources are in sync.", class_="soft"))
    yield _Section("diff", "Differences", len(changed), tuple(parts))


_STATE_WORDS: Final = {
    State.DIFFERS: "differs",
    State.MISSING: "only in Git",
    State.EXTRA: "only in the cluster",
}


def _resource_diff(resource: ResourceDiff) -> Xml:
    ref = resource.resource.ref
    word = _STATE_WORDS.get(resource.state, resource.state.value)
    summary = tag("summary", tag("b", one_line(f"{ref}", 200)), " ", tag("span", word, class_="badge none"))
    parts: list[Xml] = [summary]
    if resource.fields:
        rows = [
            tag(
                "tr",
                tag("th", tag("code", one_line(field.change.path, 160)), scope="row"),
                tag("td", tag("code", _side(field.change.desired)), class_="git"),
                tag("td", tag("code", _side(field.change.live)), class_="live-value"),
                tag("td", one_line(_writers(field.ownership), 160)),
            )
            for field in resource.fields[:50]
        ]
        head = tag(
            "tr",
            *(tag("th", title, scope="col") for title in ("Field", "Git", "Live", "Live value written by")),
        )
        parts.append(
            _scrolling(
                tag("table", tag("thead", head), tag("tbody", *rows), class_="fields"), "Fields that differ"
            )
        )
    parts.append(_side_by_side(resource, ref.kind))
    extra = {"open": "open"} if resource.state is State.DIFFERS else {}
    return tag("details", *parts, class_="resource", data_key=f"diff {ref}", **extra)


def _scrolling(content: Xml, label: str) -> Xml:
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _side(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "not set"
    if isinstance(value, dict | list):
        return one_line(dump(value), 160)
    return one_line(f"{value}", 160)


def _writers(ownership: Ownership) -> str:
    if ownership.writers:
        return "; ".join(phrase(writer) for writer in ownership.writers[:2])
    return "not recorded"


def _side_by_side(resource: ResourceDiff, kind: str) -> Xml:
    """Live on the left, what a sync would apply on the right."""
    compared = resource.resource
    diff = compared.diff if compared.is_modified else None
    live = diff.normalized_live if diff is not None else compared.live
    predicted = diff.predicted_live if diff is not None else compared.target
    try:
        lines = side_by_side(live, predicted)
    except TooLong:
        return tag("p", "too long to show side by side: whysync diff", class_="soft")
    rows: list[Xml] = []
    for line in lines[:_MOST_LINES]:
        if line.mark == "@":
            rows.append(tag("tr", tag("td", one_line(line.predicted, 200) or "…", colspan=2), class_="at"))
            continue
        css_class = {"<": "removed", ">": "added", "|": "changed"}.get(line.mark, "same")
        left = tag("td", _yaml_line(line.live), class_="left")
        rows.append(tag("tr", left, tag("td", _yaml_line(line.predicted), class_="right"), class_=css_class))
    head = tag("thead", tag("tr", tag("th", "Live", scope="col"), tag("th", "After a sync", scope="col")))
    table = tag("table", head, tag("tbody", *rows, ""), class_="sides")
    return _scrolling(table, f"{kind}: live and after a sync")


def _yaml_line(text: str) -> Xml:
    return tag("code", joined(lines_of(text, 1)) if text else "")


# --- what happened ----------------------------------------------------------------------------------------


def _recent_changes(report: AppReport, fleet: Fleet) -> Iterator[_Section]:
    recent = recent_changes(report.case)
    if recent is None or not recent.changes:
        return
    rows: list[Xml] = []
    for change in recent.changes[:15]:
        is_clear = change.names_object or change.about == report.case.application.ref
        what = change.what if is_clear else f"{change.about} {change.what}"
        who = f" by {change.who}" if change.who else ""
        values = ""
        if change.before is not None or change.after is not None:
            values = f": {_side(change.before)} → {_side(change.after)}"
        rows.append(tag("li", moment(change.time, fleet.now()), " ", one_line(f"{what}{who}{values}", 400)))
    log = tag("ul", *rows, class_="log")
    yield _Section("changes", "What changed since it was healthy", len(rows), (log,))


def _history(state: AppState, fleet: Fleet, history: History) -> _Section:
    incidents = history.incidents(IncidentFilter(app=state.key, limit=20))
    events = history.timeline_of_app(state.key, limit=60)
    parts: list[Xml] = []
    if incidents:
        parts.append(tag("ul", *(_incident(incident, fleet) for incident in incidents), class_="log"))
    parts.append(timeline(events, fleet.now()))
    return _Section("timeline", "Incidents and timeline", 0, tuple(parts))


def _incident(incident: Incident, fleet: Fleet) -> Xml:
    state = "open" if incident.is_open else "closed"
    return tag(
        "li",
        tag("span", state, class_=f"badge {'bad' if incident.is_open else 'none'}"),
        " ",
        tag("a", f"Incident {incident.id}", href=f"/incidents/{incident.id}"),
        f" {one_line(incident.problem.cause, 60)}, first seen ",
        moment(incident.opened_at, fleet.now()),
        f", lasted {short_age(incident.duration(fleet.now()))}" if not incident.is_open else "",
        f", {counted(incident.flaps, 'flap')}" if incident.flaps else "",
    )


# --- the rest ---------------------------------------------------------------------------------------------


def _unexplained(report: AppReport) -> Iterator[_Section]:
    if report.unexplained:
        items = [tag("li", one_line(symptom.text, 600)) for symptom in report.unexplained[:20]]
        yield _Section("unexplained", "Not explained", len(report.unexplained), (tag("ul", *items),))


def _gaps(report: AppReport) -> Iterator[_Section]:
    items = [
        tag(
            "li",
            tag("b", one_line(gap.what, 200)),
            f": {one_line(gap.why, 300)}",
            tag("span", f" {one_line(gap.how_to_get, 300)}" if gap.how_to_get else "", class_="soft"),
        )
        for gap in report.gaps[:20]
    ]
    items += [
        tag("li", f"rule {crash.rule} failed: {one_line(crash.error, 200)}") for crash in report.crashed
    ]
    if items:
        yield _Section("gaps", "Not readable", len(items), (tag("ul", *items),))


def _raw(state: AppState) -> Xml:
    base = app_url(state.key)
    return tag(
        "p",
        tag("a", "Application as YAML", href=f"{base}/objects"),
        " · ",
        tag("a", "Report as JSON", href=f"/api/v1{base}"),
        class_="soft raw",
    )
