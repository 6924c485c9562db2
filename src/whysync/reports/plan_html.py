"""A plan as one page that needs nothing else: no script, no font, no picture from anywhere.

It may hold the names of thousands of resources, all of them hostile: whatever came from outside goes through
`markup`, and the page's own policy forbids scripts and requests. Its size is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from whysync.diagnosis.report import AppReport, Report, SyncSafety
from whysync.planning.plan import AppPlan, Plan, Run
from whysync.reports.markup import tag, words
from whysync.reports.plan_diagnosis import diagnosis
from whysync.reports.plan_drawing import WIDTH, colour_of, drawn, in_words, lasted, marks_of
from whysync.reports.plan_style import PAGE
from whysync.reports.plan_svg import headline, look_of
from whysync.reports.plan_view import (
    GROUNDS,
    MARKS,
    by_app,
    change_words,
    safety_words,
    took,
    untouched_words,
    verdict_words,
)
from whysync.reports.screen import one_line

LARGEST: Final = 1_500_000
"""Characters; what does not fit is named at the end."""
_MOST_CHANGES: Final = 300
_MOST_WAVES: Final = 40
_MOST_NOTES: Final = 40
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CAPTION: Final = (
    "A wave waits until all of the wave before it is healthy, and its hooks have ended. "
    "Marks in the boxes: + made, ~ changed, ± made anew, − pruned."
)
_SAFETY: Final = {SyncSafety.SAFE: "good", SyncSafety.UNSAFE: "bad", SyncSafety.UNKNOWN: "wait"}


def render(plan: Plan, report: Report) -> str:
    reports = by_app(report)
    apps = sorted(plan.apps, key=lambda one: one.passed)
    sections: list[str] = []
    left: list[AppPlan] = []
    used = 0
    for number, app in enumerate(apps):
        made = "" if left else "\n".join(_app(app, reports.get(app.name), number))
        if left or used + len(made) > LARGEST:
            left.append(app)
            continue
        used += len(made)
        sections.append(made)
    parts = [
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>',
        '<meta charset="utf-8"/>',
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<meta name="referrer" content="no-referrer"/>',
        tag("title", words(f"{headline(plan)}: whysync plan, {plan.base} → {plan.head}", 200)),
        f"<style>\n{PAGE}</style>\n</head>\n<body>",
        *_header(plan, apps, reports),
        "<main>",
        *sections,
        *_left(left, reports),
        "</main>",
        *_footer(plan),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _header(plan: Plan, apps: list[AppPlan], reports: Mapping[str, AppReport]) -> Iterator[str]:
    yield "<header>"
    mark = {"bad": "✗", "wait": "?", "good": "✓"}[look_of(plan)]
    yield tag("h1", f"{mark} {headline(plan)}", class_=look_of(plan))
    for app in [one for one in apps if not one.passed or not one.runs][:20]:
        yield tag("p", words(verdict_words(app, reports.get(app.name)), 600), class_="answer")
    yield tag(
        "p",
        "whysync plan, ",
        tag("code", words(plan.base, 100) or "?"),
        " → ",
        tag("code", words(plan.head, 100) or "?"),
        class_="soft",
    )
    if len(apps) > 1:
        rows = [
            tag("li", tag("a", words(one.name), href=f"#app-{number}"), " ", _badge(one))
            for number, one in enumerate(apps[:200])
        ]
        yield tag("nav", tag("ul", *rows), aria_label="Applications")
    yield "</header>"


def _badge(app: AppPlan) -> str:
    if not app.runs:
        return tag("span", "unknown", class_="badge wait")
    return (
        tag("span", "would pass", class_="badge good")
        if app.passed
        else tag("span", "would fail", class_="badge bad")
    )


def _app(app: AppPlan, report: AppReport | None, number: int) -> Iterator[str]:
    yield f'<section aria-labelledby="app-{number}">'
    yield tag("h2", words(app.name.partition("/")[2]), " ", _badge(app), id=f"app-{number}")
    if app.file:
        yield tag("p", words(app.name), ", from ", tag("code", words(app.file)), class_="soft")
    yield from _clusters(app)
    run = app.decisive
    for one in sorted(app.runs, key=lambda one: one is not run):
        if one.steps:
            yield from _figure(one, app, number, opened=one is run)
    yield from _changes(app)
    yield from _safe(app)
    if report is not None and run is not None and not run.passed:
        yield from diagnosis(report)
    yield from _notes(app)
    yield "</section>"


def _clusters(app: AppPlan) -> Iterator[str]:
    rows: list[str] = []
    for run in app.runs:
        where = GROUNDS[run.ground] if run.steps or run.passed else "on any cluster"
        ending = f"would {'pass in' if run.passed else 'fail after'} {took(run.seconds)}"
        look, mark = ("good", "✓") if run.passed else ("bad", "✗")
        rows.append(
            tag(
                "tr",
                tag("th", words(where), scope="row"),
                tag("td", f"{mark} {ending}", class_=look),
                tag("td", words(run.message, 600) or " "),
            )
        )
    if rows:
        yield tag("table", *rows, class_="clusters")


def _figure(run: Run, app: AppPlan, number: int, *, opened: bool) -> Iterator[str]:
    """The picture, and the same in words. That of another cluster is folded away."""
    title = f"Phases and waves, {GROUNDS[run.ground]}"
    picture = drawn(run, marks_of(app.changes), top=2)
    name = f"waves-{number}-{run.ground.value}"
    svg = tag(
        "svg",
        tag("title", words(title), id=name),
        "\n".join(picture.parts),
        viewBox=f"0 0 {WIDTH} {picture.height + 4}",
        role="img",
        aria_labelledby=name,
        aria_describedby=f"{name}-list",
        class_="plan",
        xmlns="http://www.w3.org/2000/svg",
    )
    steps = [
        tag(
            "li",
            tag("b", f"{words(step.phase)}, wave {step.wave}"),
            f" {words(lasted(step))}",
            tag("ul", *(tag("li", words(line, 600)) for line in in_words(step))),
        )
        for step in run.steps[:_MOST_WAVES]
    ]
    if len(run.steps) > _MOST_WAVES:
        steps.append(tag("li", f"and {len(run.steps) - _MOST_WAVES} more waves"))
    listed = tag("details", tag("summary", "The same as a list"), tag("ol", *steps, id=f"{name}-list"))
    figure = tag("figure", svg, tag("figcaption", _CAPTION, class_="soft"))
    if opened:
        yield tag("h3", words(title))
        yield figure
        yield listed
    else:
        yield tag("details", tag("summary", words(title)), figure, listed)


def _changes(app: AppPlan) -> Iterator[str]:
    if not app.changes:
        return
    yield tag("h3", "Changes")
    rows = [
        tag(
            "tr",
            tag("td", MARKS[one.sort], class_=f"sort {colour_of(one.sort)}", title=one.sort.value),
            tag("td", words(change_words(one), 600), class_="name"),
            tag("td", tag("code", words(one.origin)) if one.origin else " ", class_="from"),
        )
        for one in app.changes[:_MOST_CHANGES]
    ]
    if len(app.changes) > _MOST_CHANGES:
        more = f"and {len(app.changes) - _MOST_CHANGES:,} more: see whysync plan -o json"
        rows.append(tag("tr", tag("td", " "), tag("td", more, colspan=2)))
    head = tag("tr", *(tag("th", one, scope="col") for one in (" ", "Resource", "From")))
    yield tag("table", tag("thead", head), tag("tbody", "\n".join(rows)))


def _safe(app: AppPlan) -> Iterator[str]:
    if app.safety is None:
        return
    look = _SAFETY[app.safety.sync]
    yield tag("h3", "Is it safe? ", tag("span", safety_words(app), class_=f"badge {look}"))
    if app.safety.reasons:
        yield tag("ul", *(tag("li", words(reason.text)) for reason in app.safety.reasons))
    else:
        yield tag("p", "Nothing is lost.")


def _notes(app: AppPlan) -> Iterator[str]:
    if app.notes:
        yield tag("h3", "Notes")
        yield tag("ul", *(tag("li", words(one)) for one in app.notes[:_MOST_NOTES]))
    granted = list(dict.fromkeys(one_line(note) for run in app.runs for note in run.notes))
    if granted:
        told = [tag("li", words(one)) for one in granted[:_MOST_NOTES]]
        if len(granted) > _MOST_NOTES:
            told.append(tag("li", f"and {len(granted) - _MOST_NOTES:,} more"))
        yield tag("details", tag("summary", "Taken for granted"), tag("ul", *told))


def _left(apps: list[AppPlan], reports: Mapping[str, AppReport]) -> Iterator[str]:
    if apps:
        yield tag("h2", f"{len(apps)} more apps, for which there is no room here")
        yield tag("ul", *(tag("li", words(verdict_words(one, reports.get(one.name)))) for one in apps))


def _footer(plan: Plan) -> Iterator[str]:
    told = [untouched_words(plan)] if plan.untouched else []
    told += [*plan.notes[:_MOST_NOTES]]
    told.append("Times are those of a virtual clock: nothing was deployed to make this page.")
    yield tag("footer", *(tag("p", words(one)) for one in told))
