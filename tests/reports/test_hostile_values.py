"""Hostile values in every string of every report, in every form: none of them gets through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.reports.hostile import HALF, HOSTILE, check
from tests.reports.made_up import NOW, Field, Maker, keys_in, poisoned
from tests.situations import EXAMPLES, ROOT, application, case_of
from whysync import app
from whysync.alerts.catalog import alerts_of
from whysync.alerts.limits import AlertLimits, Scope
from whysync.alerts.rendering import groups
from whysync.alerts.runbook import page
from whysync.argocd.app_controller.trace import TraceEvent
from whysync.argocd.health.assess import standalone_health
from whysync.audit.auditing import audit
from whysync.audit.result import Audit
from whysync.audit.view import render as audit_view
from whysync.cli.collect import summary
from whysync.cli.diff import OUTPUTS as DIFF_OUTPUTS
from whysync.cli.fix import OUTPUTS as FIX_OUTPUTS
from whysync.cli.lint import FORMATS as LINT_FORMATS
from whysync.cli.output_flags import FLEET_OUTPUTS, OUTPUTS
from whysync.cli.plan import FORMATS as PLAN_FORMATS
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.report import Report
from whysync.diagnosis.rule import AnyRule, Rule
from whysync.errors import Refused, SourceError, WhysyncError
from whysync.facts.bundle import read_bundle
from whysync.facts.collect import CollectedCounts
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml
from whysync.lint.outcome import Outcome
from whysync.plan.plan import Plan
from whysync.reports import (
    diagnose_html,
    diagnose_json,
    diagnose_markdown,
    diagnose_short,
    diagnose_text,
    diff_json,
    diff_markdown,
    diff_text,
    explain_rules,
    fix_view,
    get_view,
    health_view,
    json_yaml,
    lab_pages,
    lint_json,
    lint_markdown,
    lint_text,
    list_html,
    list_view,
    output,
    plan_html,
    plan_json,
    plan_markdown,
    plan_svg,
    plan_text,
)
from whysync.reports.annotations import github, gitlab, junit, sarif
from whysync.reports.annotations.lint_rows import lint_rows
from whysync.reports.annotations.plan_rows import app_rows, run_rows
from whysync.reports.app_diff import AppDiff
from whysync.reports.fix_view import Chosen
from whysync.reports.health_view import HealthReport, JudgedObject
from whysync.reports.lab_animation import Picture
from whysync.reports.lab_timeline import lines_of, timeline_lines
from whysync.reports.output import Out
from whysync.reports.terminal import Terminal
from whysync.wait.goal import Distance, Goal, distance
from whysync.wait.progress import Frames, Lines

Shown = Iterator[tuple[str, str]]
"""Forms, and the report in each."""
NARROW = Terminal(width=40)
WIDE = Terminal(width=5_000, color=True)
CASE = case_of(application(sync="OutOfSync"))


def _format(format: str, terminal: Terminal) -> str:
    return "narrow" if terminal is NARROW and format in ("text", "wide") else format


def _diagnose(report: Report) -> Shown:
    for terminal in (WIDE, NARROW):
        yield _format("text", terminal), diagnose_text.render(report, terminal)
        yield _format("wide", terminal), diagnose_text.render(report, terminal, wide=True, proofs=True)
        yield _format("text", terminal), list_view.render(report, terminal)
        yield _format("wide", terminal), list_view.render(report, terminal, wide=True)
    yield "json", json_yaml.as_json(diagnose_json.report_v1(report))
    yield "yaml", json_yaml.as_yaml(diagnose_json.report_v1(report))
    for fleet in (False, True):
        yield "text", diagnose_text.render(report, WIDE, fleet=fleet)
        yield "markdown", diagnose_markdown.render(report, fleet=fleet)
        yield "short", diagnose_short.render(report, fleet=fleet)
        yield "html", diagnose_html.render(report, fleet=fleet)
    yield "html", list_html.render(report)
    yield "name", list_view.names(report)
    yield "json", json_yaml.as_json(list_view.as_object(report))
    yield "yaml", json_yaml.as_yaml(list_view.as_object(report))
    yield "markdown", list_view.as_markdown(report)


def _alerts(report: Report) -> Shown:
    scope = Scope(apps=tuple((app.case.app.namespace, app.case.app.name) for app in report.apps))
    alerts = alerts_of(scope, AlertLimits())[:1]
    yield "markdown", page(alerts, scope, report)
    yield "json", json_yaml.as_json(groups(alerts, scope, url="https://x", report=report))
    yield "yaml", json_yaml.as_yaml(groups(alerts, scope, url="https://x", report=report))


def _get(cases: Sequence[Case]) -> Shown:
    for format in OUTPUTS:
        for terminal in (WIDE, NARROW):
            yield (
                _format(format, terminal),
                get_view.render(cases, terminal, format=format, show_operation=True),
            )


def _fix(chosen: Chosen) -> Shown:
    for format in FIX_OUTPUTS:
        try:
            yield format, fix_view.render([chosen, chosen], format=format)
        except Refused as problem:
            yield "text", _error(problem)
    if chosen.change is not None:
        yield "text", fix_view.written_text(chosen, dry_run=True)


def _as_object(chosen: Chosen) -> Chosen:
    """The same fix, with an object in the place of commands."""
    return replace(chosen, fix=replace(chosen.fix, commands=(), line=""), change=None)


def _health(report: HealthReport) -> Shown:
    for format in ("text", "wide", "json", "yaml", "name"):
        for terminal in (WIDE, NARROW):
            yield _format(format, terminal), health_view.render(report, terminal, format=format)


def _audit(result: Audit) -> Shown:
    for format in ("text", "json", "yaml", "markdown"):
        for terminal in (WIDE, NARROW):
            yield _format(format, terminal), audit_view(result, terminal, format=format)


def _diff(apps: Sequence[AppDiff]) -> Shown:
    yield "json", json_yaml.as_json(diff_json.as_object(apps))
    yield "yaml", json_yaml.as_yaml(diff_json.as_object(apps))
    yield "markdown", diff_markdown.render(apps)
    for terminal in (WIDE, NARROW):
        for beside in (True, False):
            shown = diff_text.DiffOptions(ignored=True, managers=True, side_by_side=beside)
            yield _format("text", terminal), diff_text.render(apps, terminal, shown)


def _lint(outcome: Outcome) -> Shown:
    for terminal in (WIDE, NARROW):
        yield _format("text", terminal), lint_text.render(outcome, terminal)
        yield _format("wide", terminal), lint_text.render(outcome, terminal, wide=True)
    yield "json", lint_json.render(outcome)
    rows = lint_rows(outcome)
    yield "sarif", sarif.render(rows, [], outcome.notes)
    yield "junit", junit.render("whysync lint", rows)
    yield "junit", junit.render("whysync lint", rows, fail_on=Severity.CRITICAL)
    yield "github", github.render(rows)
    yield "gitlab", gitlab.render(rows)
    yield "markdown", lint_markdown.render(outcome)


def _plan(plan: Plan, report: Report) -> Shown:
    for terminal in (WIDE, NARROW):
        yield _format("text", terminal), plan_text.render(plan, terminal)
        yield _format("wide", terminal), plan_text.render(plan, terminal, wide=True)
    yield "json", plan_json.render(plan, report)
    yield "markdown", plan_markdown.render(plan)
    yield "html", plan_html.render(plan)
    yield "svg", plan_svg.render(plan)
    yield "junit", junit.render("whysync plan", run_rows(plan))
    yield "github", github.render(app_rows(plan))


def _explain(rule: AnyRule) -> Shown:
    """The page of a rule is Markdown of whysync's own, with links and lines."""
    for format in ("json", "yaml", "name"):
        yield format, explain_rules.render([rule], format=format, pages=True)
    for format in ("text", "markdown"):
        for pages in (True, False):
            yield "narrow", explain_rules.render([rule], format=format, pages=pages)


def _lab_list(entry: lab_pages.Entry) -> Shown:
    for format in OUTPUTS:
        yield format, lab_pages.listing([entry], WIDE, format=format)
    yield "text", output.text(lab_pages.verdict(entry.name, [entry.title], WIDE))


def _lab_run(moment: TraceEvent) -> Shown:
    for terminal in (WIDE, NARROW):
        yield _format("text", terminal), output.text(timeline_lines(list(lines_of([moment])), NOW, terminal))
        picture = Picture(moment.text, NOW, NOW - NOW, {moment.app: CASE.desired})
        picture.feed(moment)
        picture.note(NOW, moment.text)
        yield _format("text", terminal), output.text([*picture.frame(terminal), *picture.ending(terminal)])


def _collect(collected: CollectedCounts) -> Shown:
    for terminal in (WIDE, NARROW):
        yield _format("text", terminal), output.text(summary(collected, terminal))


def _wait(cases: Sequence[Case], apart: Sequence[Distance], goal: Goal, problem: SourceError) -> Shown:
    for terminal in (WIDE, NARROW):
        stream = StringIO()
        for watcher in (Lines(Out(stream), terminal), Frames(Out(stream), terminal, goal, 60.0, height=200)):
            watcher.on_poll(cases, apart, 1.0)
            watcher.on_read_error(problem, 1.0)
        yield (
            _format("text", terminal),
            re.sub(r"\x1b\[\d+F\x1b\[J", "", stream.getvalue()),
        )


def _error(problem: WhysyncError) -> str:
    return output.text([problem.what, problem.why, problem.next])


def _made_up(maker: Maker) -> dict[str, Callable[[], Shown]]:
    def diagnosed() -> Report:
        return maker.made(Report)

    return {
        "diagnose, list": lambda: _diagnose(diagnosed()),
        "alerts": lambda: _alerts(diagnosed()),
        "fix": lambda: chain(_fix(maker.made(Chosen)), _fix(_as_object(maker.made(Chosen)))),
        "health": lambda: _health(maker.made(HealthReport)),
        "audit": lambda: _audit(maker.made(Audit)),
        "lint": lambda: _lint(maker.made(Outcome)),
        "plan": lambda: _plan(maker.made(Plan), diagnosed()),
        "explain": lambda: _explain(maker.made(Rule)),
        "lab list": lambda: _lab_list(maker.made(lab_pages.Entry)),
        "lab run": lambda: _lab_run(maker.made(TraceEvent)),
        "collect": lambda: _collect(maker.made(CollectedCounts)),
        "wait": lambda: _wait([CASE], [maker.made(Distance)], maker.made(Goal), SourceError(what=HOSTILE)),
    }


GIVEN: dict[type, object] = {Case: CASE, Snapshot: None}
NAMES = tuple(_made_up(Maker("", GIVEN)))
TURNS = range(4)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", NAMES)
def test_all_fields_at_once(name: str, turn: int) -> None:
    _check_all(name, Maker(HOSTILE + HALF, GIVEN, turn=turn))


@pytest.mark.parametrize("name", NAMES)
def test_each_field_alone(name: str) -> None:
    """One hostile field at a time: no field hides another, and a failure shows its field."""
    for turn in TURNS[:2]:
        maker = Maker("word", GIVEN, turn=turn)
        _check_all(name, maker)
        assert maker.fields
        for field in sorted(maker.fields, key=str):
            _check_all(name, Maker(HOSTILE, GIVEN, only=field, turn=turn), field)


def _check_all(name: str, maker: Maker, field: Field | None = None) -> None:
    for format, text in _made_up(maker)[name]():
        try:
            check(format, text)
        except Exception as problem:
            raise AssertionError(f"{name} -o {format}: {field}: {problem}") from problem


def test_every_form_is_tried() -> None:
    tried = {name: {format for format, _ in _made_up(Maker("word", GIVEN))[name]()} for name in NAMES}
    tried = {name: formats - {"narrow"} for name, formats in tried.items()}
    assert tried["diagnose, list"] == set(FLEET_OUTPUTS)
    assert tried["fix"] == set(FIX_OUTPUTS)
    assert tried["lint"] == set(LINT_FORMATS)
    assert tried["plan"] == set(PLAN_FORMATS)
    assert {format for format, _ in _diff([])} - {"narrow"} == set(DIFF_OUTPUTS)


BUNDLES = {path.stem: path for path in EXAMPLES}


def _trees(bundle: Path) -> dict[str, list[Json]]:
    files = [bundle] if bundle.is_file() else sorted(bundle.rglob("*.yaml"))
    return {
        str(file.relative_to(ROOT / "examples")): [
            document.body
            for document in yaml.documents(file.read_text())
            if isinstance(document, yaml.Document)
        ]
        for file in files
    }


@pytest.mark.parametrize("name", BUNDLES)
def test_each_field_of_a_bundle(name: str, tmp_path: Path) -> None:
    """Managers, groups of ignore rules, images, messages: whatever a cluster says, wherever it gets to."""
    trees = _trees(BUNDLES[name])
    keys = sorted({key for documents in trees.values() for tree in documents for key in keys_in(tree)})
    assert len(keys) > 10
    for number, key in enumerate(keys):
        folder = tmp_path / str(number)
        for file, documents in trees.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                "\n---\n".join(json.dumps(poisoned(document, key, HOSTILE)) for document in documents)
            )
        try:
            for format, text in _everything(folder / Path(next(iter(trees))).parts[0]):
                check(format, text)
        except Exception as problem:
            raise AssertionError(f"{key}: {problem}") from problem


def _everything(bundle: Path) -> Shown:
    try:
        snapshot = read_bundle([str(bundle)])
        world = app.read(app.FactSource(bundles=(str(bundle),)))
        cases = app.cases(world)
    except WhysyncError as problem:
        yield "text", _error(problem)
        return
    report = app.diagnose(cases, prove=False)
    yield from _diagnose(report)
    yield from _alerts(report)
    yield from _get(cases)
    yield from _diff([AppDiff(case, selects=lambda _: True) for case in cases])
    yield from _audit(audit(cases))
    objects = tuple(
        JudgedObject(
            ref=live_object.ref, origin=live_object.origin, judged=standalone_health(live_object.body, {})
        )
        for live_object in snapshot.live
    )
    yield from _health(HealthReport(objects=objects, failing=frozenset(), unread=snapshot.gaps))
    for app_report in report.apps:
        for finding in app_report.findings:
            for number, fix in enumerate(finding.fixes, start=1):
                yield from _fix(Chosen(case=app_report.case, finding=finding, number=number, fix=fix))
    goal = Goal()
    yield from _wait(cases, [distance(case, goal) for case in cases], goal, SourceError(what="x"))
