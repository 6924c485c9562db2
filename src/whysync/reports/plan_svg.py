"""`plan -o svg`: the verdict, then phases and waves, changes and fixes of each app."""

from __future__ import annotations

import textwrap
from typing import Final

from whysync.plan.plan import AppPlan, Plan, Verdict
from whysync.reports.output import Safe
from whysync.reports.plan_diagram import WIDTH, Drawing, colour_of, draw, marks_of, step_lines
from whysync.reports.plan_style import ALONE
from whysync.reports.plan_summary import CLUSTER_LABELS, gap_text, statements, verdict_text
from whysync.reports.plan_text import (
    HEADLINES,
    MARKS,
    VERDICT_CLASSES,
    change_text,
    took,
    untouched_text,
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


def render(plan: Plan) -> Safe:
    drawing = Drawing(height=20)
    _verdict(drawing, plan)
    apps = sorted(plan.apps, key=worst_first)
    count = 0
    while count < min(len(apps), _MOST_APPS) and sum(map(len, drawing.parts)) < _LARGEST:
        _app(drawing, apps[count], several=len(apps) > 1)
        count += 1
    if len(apps) > count:
        _line(drawing, f"and {len(apps) - count} more apps: see whysync plan -o html", "soft")
    if plan.untouched:
        _line(drawing, untouched_text(plan), "soft")
    drawing.height += 14
    title, text = headline(plan), description(plan)
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


def description(plan: Plan) -> str:
    """The text alternative of the diagram: the verdict of each app, and the result of its waves."""
    sentences: list[str] = []
    for app in plan.apps[:_MOST_APPS]:
        sentences.append(verdict_text(app))
        run = app.decisive
        for step in run.steps if run is not None else ():
            sentences.append(f"{step.phase}, wave {step.wave}: {'; '.join(step_lines(step))}")
    return ". ".join(sentences)


def _verdict(drawing: Drawing, plan: Plan) -> None:
    drawing.height += 22
    drawing.text(24, drawing.height, headline(plan), f"verdict {verdict_class(plan)}")
    drawing.text(WIDTH - 24, drawing.height, f"{plan.base} → {plan.head}"[:80], "soft", text_anchor="end")
    drawing.height += 10
    for statement in statements(plan)[:_MOST_APPS]:
        for line in textwrap.wrap(one_line(statement.sentence()), 115)[:4]:
            drawing.height += 20
            drawing.text(24, drawing.height, line, "said")
    drawing.height += 22


def _app(drawing: Drawing, app: AppPlan, *, several: bool) -> None:
    if several:
        drawing.height += 22
        drawing.text(24, drawing.height, app.title, "said")
        drawing.height += 14
    run = app.decisive
    if run is not None and run.steps:
        picture = draw(run, marks_of(app.changes), top=drawing.height)
        drawing.parts += picture.parts
        drawing.height += picture.height + 12
    for gap in app.unseen[:2] if not app.runs else ():
        _line(drawing, gap_text(gap), "wait")
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
    for cause in app.causes[:1]:
        for fix in cause.finding.fixes[:2]:
            proof = mark_of(fix, Terminal())
            _line(drawing, f"fix: {fix.title}{f'   {proof}' if proof else ''}", "news")
    drawing.height += 12


def _line(drawing: Drawing, text: str, css_class: str) -> None:
    for number, line in enumerate(textwrap.wrap(one_line(text), _COLUMN)[:3]):
        drawing.height += 20
        drawing.text(40 if number else 24, drawing.height, line, css_class)
