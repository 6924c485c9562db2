"""`plan -o svg`: the verdict, then phases and waves, changes and fixes of each app."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

from whysync.diagnosis.report import AppReport, Report
from whysync.plan.plan import AppPlan, Plan, Verdict
from whysync.reports.output import Safe
from whysync.reports.plan_diagram import WIDTH, Drawing, colour_of, draw, marks_of, step_lines
from whysync.reports.plan_style import ALONE
from whysync.reports.plan_text import (
    CLUSTER_LABELS,
    HEADLINES,
    MARKS,
    VERDICT_CLASSES,
    AppKey,
    by_app,
    change_text,
    took,
    untouched_text,
    verdict_text,
    verdict_texts,
    worst_first,
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
    reports = by_app(plan, report)
    drawing = Drawing(height=20)
    _verdict(drawing, plan, reports)
    apps = sorted(plan.apps, key=worst_first)
    count = 0
    while count < min(len(apps), _MOST_APPS) and sum(map(len, drawing.parts)) < _LARGEST:
        _app(drawing, apps[count], reports.get(apps[count].key), several=len(apps) > 1)
        count += 1
    if len(apps) > count:
        _line(drawing, f"and {len(apps) - count} more apps: see whysync plan -o html", "soft")
    if plan.untouched:
        _line(drawing, untouched_text(plan), "soft")
    drawing.height += 14
    title, text = headline(plan), description(plan, reports)
    svg = tag(
        "svg",
        tag("title", one_line(f"whysync plan: {title}"), id="title"),
        tag("desc", one_line(text, 4_000), id="desc"),
        tag("style", Xml(ALONE)),
        tag("rect", width=WIDTH, height=drawing.height, class_="ground"),
        *drawing.parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {drawing.height}",
        width=WIDTH,
        height=drawing.height,
        role="img",
        aria_labelledby="title desc",
        class_="plan",
    )
    return document(joined((XML, Xml(svg.replace("</g><", "</g>\n<"))), "\n"))


def headline(plan: Plan) -> str:
    is_quiet = plan.verdict is Verdict.PASS and not plan.apps
    return "Nothing changes" if is_quiet else HEADLINES[plan.verdict]


def verdict_class(plan: Plan) -> str:
    return VERDICT_CLASSES[plan.verdict]


def description(plan: Plan, reports: Mapping[AppKey, AppReport]) -> str:
    """The text alternative of the diagram: the verdict of each app, and the result of its waves."""
    sentences: list[str] = []
    for app in plan.apps[:_MOST_APPS]:
        sentences.append(verdict_text(app, reports.get(app.key)))
        run = app.decisive
        for step in run.steps if run is not None else ():
            sentences.append(f"{step.phase}, wave {step.wave}: {'; '.join(step_lines(step))}")
    return ". ".join(sentences)


def _verdict(drawing: Drawing, plan: Plan, reports: Mapping[AppKey, AppReport]) -> None:
    drawing.height += 22
    drawing.text(24, drawing.height, headline(plan), f"verdict {verdict_class(plan)}")
    drawing.text(WIDTH - 24, drawing.height, f"{plan.base} → {plan.head}"[:80], "soft", text_anchor="end")
    drawing.height += 10
    verdicts = plan.problems
    texts = [text for verdict in verdicts for text in verdict_texts(plan, verdict, reports)]
    for text in texts[:_MOST_APPS]:
        for line in textwrap.wrap(one_line(text), 115)[:4]:
            drawing.height += 20
            drawing.text(24, drawing.height, line, "said")
    drawing.height += 22


def _app(drawing: Drawing, app: AppPlan, report: AppReport | None, *, several: bool) -> None:
    if several:
        drawing.height += 22
        drawing.text(24, drawing.height, app.title, "said")
        drawing.height += 14
    run = app.decisive
    if run is not None and run.steps:
        picture = draw(run, marks_of(app.changes), top=drawing.height)
        drawing.parts += picture.parts
        drawing.height += picture.height + 12
    for note in app.notes[:2] if not app.runs else ():
        _line(drawing, note, "wait")
    for run_of_app in app.runs:
        ending = f"would {'pass in' if run_of_app.passed else 'fail after'} {took(run_of_app.seconds)}"
        _line(
            drawing,
            f"{'✓' if run_of_app.passed else '✗'} {CLUSTER_LABELS[run_of_app.cluster]}: {ending}",
            "good" if run_of_app.passed else "bad",
        )
    for change in app.changes[:_MOST_CHANGES]:
        _line(drawing, f"{MARKS[change.sort]} {change_text(change)}", colour_of(change.sort))
    if len(app.changes) > _MOST_CHANGES:
        _line(drawing, f"  and {len(app.changes) - _MOST_CHANGES:,} more", "soft")
    for finding in report.findings[:1] if report is not None and run is not None and not run.passed else ():
        for fix in finding.fixes[:2]:
            proof = mark_of(fix, Terminal())
            _line(drawing, f"fix: {fix.title}{f'   {proof}' if proof else ''}", "news")
    drawing.height += 12


def _line(drawing: Drawing, text: str, css_class: str) -> None:
    for number, line in enumerate(textwrap.wrap(one_line(text), _COLUMN)[:3]):
        drawing.height += 20
        drawing.text(40 if number else 24, drawing.height, line, css_class)
