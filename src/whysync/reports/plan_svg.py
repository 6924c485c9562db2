"""A plan as one picture: the verdict, then phases and waves of each app, what changes, and the fix."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

from whysync.diagnosis.report import AppReport, Report
from whysync.plan.plan import AppPlan, Plan
from whysync.reports.output import Safe
from whysync.reports.plan_diagram import WIDTH, Drawing, colour_of, drawn, in_words, marks_of
from whysync.reports.plan_style import ALONE
from whysync.reports.plan_text import (
    GROUNDS,
    MARKS,
    by_app,
    change_words,
    took,
    untouched_words,
    verdict_words,
)
from whysync.reports.proof_text import mark_of
from whysync.reports.terminal import Terminal, one_line
from whysync.reports.xml_text import XML, Xml, document, joined, tag

_MOST_APPS: Final = 12
_LARGEST: Final = 1_000_000
"""Characters; an app that begins below it is drawn to its end."""
_MOST_CHANGES: Final = 16
_COLUMN: Final = 116
"""Letters in a line."""


def render(plan: Plan, report: Report) -> Safe:
    reports = by_app(report)
    made = Drawing(height=20)
    _verdict(made, plan, reports)
    apps = sorted(plan.apps, key=lambda one: one.passed)
    shown = 0
    while shown < min(len(apps), _MOST_APPS) and sum(map(len, made.parts)) < _LARGEST:
        _app(made, apps[shown], reports.get(apps[shown].name), several=len(apps) > 1)
        shown += 1
    if len(apps) > shown:
        _line(made, f"and {len(apps) - shown} more apps: see whysync plan -o html", "soft")
    if plan.untouched:
        _line(made, untouched_words(plan), "soft")
    made.height += 14
    title, told = headline(plan), description(plan, reports)
    drawn_all = tag(
        "svg",
        tag("title", one_line(f"whysync plan: {title}"), id="title"),
        tag("desc", one_line(told, 4_000), id="desc"),
        tag("style", Xml(ALONE)),
        tag("rect", width=WIDTH, height=made.height, class_="ground"),
        *made.parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {made.height}",
        width=WIDTH,
        height=made.height,
        role="img",
        aria_labelledby="title desc",
        class_="plan",
    )
    return document(joined((XML, Xml(drawn_all.replace("</g><", "</g>\n<"))), "\n"))


def headline(plan: Plan) -> str:
    if not plan.passed:
        return "Would fail"
    if any(not app.runs for app in plan.apps):
        return "Unknown"
    return "Would pass" if plan.apps else "Nothing changes"


def look_of(plan: Plan) -> str:
    return {"Would fail": "bad", "Unknown": "wait"}.get(headline(plan), "good")


def description(plan: Plan, reports: Mapping[str, AppReport]) -> str:
    """The picture in words: the sentence of each app, and how each of its waves ends."""
    told: list[str] = []
    for app in plan.apps[:_MOST_APPS]:
        told.append(verdict_words(app, reports.get(app.name)))
        run = app.decisive
        for step in run.steps if run is not None else ():
            told.append(f"{step.phase}, wave {step.wave}: {'; '.join(in_words(step))}")
    return ". ".join(told)


def _verdict(made: Drawing, plan: Plan, reports: Mapping[str, AppReport]) -> None:
    made.height += 22
    made.text(24, made.height, headline(plan), f"verdict {look_of(plan)}")
    made.text(WIDTH - 24, made.height, f"{plan.base} → {plan.head}"[:80], "soft", text_anchor="end")
    made.height += 10
    failed = [app for app in plan.apps if not app.passed or not app.runs]
    for app in failed[:_MOST_APPS]:
        for line in textwrap.wrap(one_line(verdict_words(app, reports.get(app.name))), 115)[:4]:
            made.height += 20
            made.text(24, made.height, line, "said")
    made.height += 22


def _app(made: Drawing, app: AppPlan, report: AppReport | None, *, several: bool) -> None:
    if several:
        made.height += 22
        made.text(24, made.height, app.name, "said")
        made.height += 14
    run = app.decisive
    if run is not None and run.steps:
        picture = drawn(run, marks_of(app.changes), top=made.height)
        made.parts += picture.parts
        made.height += picture.height + 12
    for note in app.notes[:2] if not app.runs else ():
        _line(made, note, "wait")
    for one in app.runs:
        ending = f"would {'pass in' if one.passed else 'fail after'} {took(one.seconds)}"
        _line(
            made,
            f"{'✓' if one.passed else '✗'} {GROUNDS[one.cluster]}: {ending}",
            "good" if one.passed else "bad",
        )
    for change in app.changes[:_MOST_CHANGES]:
        _line(made, f"{MARKS[change.sort]} {change_words(change)}", colour_of(change.sort))
    if len(app.changes) > _MOST_CHANGES:
        _line(made, f"  and {len(app.changes) - _MOST_CHANGES:,} more", "soft")
    for finding in report.findings[:1] if report is not None and run is not None and not run.passed else ():
        for fix in finding.fixes[:2]:
            proven = mark_of(fix, Terminal())
            _line(made, f"fix: {fix.title}{f'   {proven}' if proven else ''}", "news")
    made.height += 12


def _line(made: Drawing, told: str, look: str) -> None:
    for number, line in enumerate(textwrap.wrap(one_line(told), _COLUMN)[:3]):
        made.height += 20
        made.text(40 if number else 24, made.height, line, look)
