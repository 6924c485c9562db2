"""`plan -o html`: a self-contained page without scripts, fonts or requests.

Values are escaped by `xml_text`, the Content-Security-Policy of the page forbids scripts and requests, and
its size is limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.report import SyncSafety
from whysync.plan.plan import AppPlan, Plan, Run
from whysync.reports.html_parts import finding_card, page_start
from whysync.reports.output import Safe
from whysync.reports.plan_diagram import WIDTH, colour_of, draw, marks_of, step_lines, time_range
from whysync.reports.plan_style import PAGE
from whysync.reports.plan_summary import (
    CLUSTER_LABELS,
    assumption_texts,
    gap_text,
    statements,
    verdict_text,
)
from whysync.reports.plan_svg import headline, verdict_class
from whysync.reports.plan_text import (
    HEADLINES,
    MARKS,
    VERDICT_CLASSES,
    change_text,
    safety_text,
    took,
    untouched_text,
    worst_first,
)
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, document, joined, tag

LARGEST: Final = 1_500_000
"""Characters; apps that do not fit are listed at the end."""
_MOST_CHANGES: Final = 300
_MOST_WAVES: Final = 40
_MOST_NOTES: Final = 40
_MOST_FINDINGS: Final = 20
_CAPTION: Final = (
    "A wave waits until all of the wave before it is healthy, and its hooks have ended. "
    "Marks in the boxes: + created, ~ changed, ± recreated, − pruned."
)
_SAFETY: Final = {SyncSafety.SAFE: "good", SyncSafety.UNSAFE: "bad", SyncSafety.UNKNOWN: "wait"}


def render(plan: Plan) -> Safe:
    apps = sorted(plan.apps, key=worst_first)
    sections: list[Xml] = []
    omitted: list[AppPlan] = []
    used = 0
    for number, app in enumerate(apps):
        section = Xml("") if omitted else joined(_app(app, number), "\n")
        if omitted or used + len(section) > LARGEST:
            omitted.append(app)
            continue
        used += len(section)
        sections.append(section)
    parts = [
        page_start(f"{headline(plan)}: whysync plan, {plan.base} → {plan.head}", PAGE),
        *_header(plan, apps),
        Xml("<main>"),
        *sections,
        *_omitted(omitted),
        Xml("</main>"),
        *_footer(plan),
        Xml("</body>\n</html>\n"),
    ]
    return document(joined(parts, "\n"))


def _header(plan: Plan, apps: list[AppPlan]) -> Iterator[Xml]:
    yield Xml("<header>")
    mark = {"bad": "✗", "wait": "?", "good": "✓"}[verdict_class(plan)]
    yield tag("h1", f"{mark} {headline(plan)}", class_=verdict_class(plan))
    texts = [
        ("" if statement.verdict is plan.verdict else f"{HEADLINES[statement.verdict]}: ")
        + statement.sentence()
        for statement in statements(plan)
    ]
    for text in texts[:20]:
        yield tag("p", one_line(text, 600), class_="answer")
    if len(texts) > 20:
        yield tag("p", f"and {len(texts) - 20} more", class_="answer")
    yield tag(
        "p",
        "whysync plan, ",
        tag("code", one_line(plan.base, 100) or "?"),
        " → ",
        tag("code", one_line(plan.head, 100) or "?"),
        class_="soft",
    )
    if len(apps) > 1:
        rows = [
            tag("li", tag("a", one_line(listed.title), href=f"#app-{number}"), " ", _badge(listed))
            for number, listed in enumerate(apps[:200])
        ]
        yield tag("nav", tag("ul", *rows), aria_label="Applications")
    yield Xml("</header>")


def _badge(app: AppPlan) -> Xml:
    return tag("span", HEADLINES[app.verdict].lower(), class_=f"badge {VERDICT_CLASSES[app.verdict]}")


def _app(app: AppPlan, number: int) -> Iterator[Xml]:
    yield Xml(f'<section aria-labelledby="app-{number}">')
    yield tag("h2", one_line(app.title), " ", _badge(app), id=f"app-{number}")
    if app.file:
        yield tag("p", one_line(app.name), ", from ", tag("code", one_line(app.file)), class_="soft")
    yield from _clusters(app)
    run = app.decisive
    for app_run in sorted(app.runs, key=lambda app_run: app_run is not run):
        if app_run.steps:
            yield from _figure(app_run, app, number, open=app_run is run)
    yield from _changes(app)
    yield from _safe(app)
    yield from _causes(app)
    yield from _notes(app)
    yield Xml("</section>")


def _clusters(app: AppPlan) -> Iterator[Xml]:
    rows: list[Xml] = []
    for run in app.runs:
        cluster = CLUSTER_LABELS[run.cluster] if run.steps or run.passed else "on any cluster"
        ending = f"would {'pass in' if run.passed else 'fail after'} {took(run.seconds)}"
        css_class, mark = ("good", "✓") if run.passed else ("bad", "✗")
        rows.append(
            tag(
                "tr",
                tag("th", one_line(cluster), scope="row"),
                tag("td", f"{mark} {ending}", class_=css_class),
                tag("td", one_line(run.message, 600) or " "),
            )
        )
    if rows:
        yield tag("table", *rows, class_="clusters")


def _figure(run: Run, app: AppPlan, number: int, *, open: bool) -> Iterator[Xml]:
    """The diagram and the same as a list; collapsed unless `open`."""
    title = f"Phases and waves, {CLUSTER_LABELS[run.cluster]}"
    picture = draw(run, marks_of(app.changes), top=2)
    name = f"waves-{number}-{run.cluster.value}"
    svg = tag(
        "svg",
        tag("title", one_line(title), id=name),
        joined(picture.parts, "\n"),
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
            tag("b", f"{one_line(step.phase)}, wave {step.wave}"),
            f" {one_line(time_range(step))}",
            tag("ul", *(tag("li", one_line(line, 600)) for line in step_lines(step))),
        )
        for step in run.steps[:_MOST_WAVES]
    ]
    if len(run.steps) > _MOST_WAVES:
        steps.append(tag("li", f"and {len(run.steps) - _MOST_WAVES} more waves"))
    listed = tag("details", tag("summary", "The same as a list"), tag("ol", *steps, id=f"{name}-list"))
    figure = tag("figure", svg, tag("figcaption", _CAPTION, class_="soft"))
    if open:
        yield tag("h3", one_line(title))
        yield figure
        yield listed
    else:
        yield tag("details", tag("summary", one_line(title)), figure, listed)


def _changes(app: AppPlan) -> Iterator[Xml]:
    if not app.changes:
        return
    yield tag("h3", "Changes")
    rows = [
        tag(
            "tr",
            tag("td", MARKS[change.sort], class_=f"sort {colour_of(change.sort)}", title=change.sort.value),
            tag("td", one_line(change_text(change), 600), class_="name"),
            tag("td", tag("code", one_line(change.origin)) if change.origin else " ", class_="from"),
        )
        for change in app.changes[:_MOST_CHANGES]
    ]
    if len(app.changes) > _MOST_CHANGES:
        more = f"and {len(app.changes) - _MOST_CHANGES:,} more: see whysync plan -o json"
        rows.append(tag("tr", tag("td", " "), tag("td", more, colspan=2)))
    head = tag("tr", *(tag("th", heading, scope="col") for heading in (" ", "Resource", "From")))
    yield tag("table", tag("thead", head), tag("tbody", joined(rows, "\n")))


def _safe(app: AppPlan) -> Iterator[Xml]:
    if app.safety is None:
        return
    css_class = _SAFETY[app.safety.sync]
    yield tag("h3", "Is it safe? ", tag("span", safety_text(app), class_=f"badge {css_class}"))
    if app.safety.reasons:
        yield tag("ul", *(tag("li", one_line(reason.text)) for reason in app.safety.reasons))
    else:
        yield tag("p", "Nothing is lost.")


def _causes(app: AppPlan) -> Iterator[Xml]:
    if not app.causes:
        return
    yield tag("h3", "Why, and what fixes it")
    for cause in app.causes:
        yield finding_card(cause.finding, [(planned.fix, planned.diff) for planned in cause.fixes])


def _notes(app: AppPlan) -> Iterator[Xml]:
    notes = [*app.notes, *(note for run in app.runs for note in run.notes), *map(gap_text, app.unseen)]
    if notes:
        yield tag("h3", "Notes")
        yield tag("ul", *(tag("li", one_line(note)) for note in list(dict.fromkeys(notes))[:_MOST_NOTES]))


def _omitted(omitted: list[AppPlan]) -> Iterator[Xml]:
    if omitted:
        yield tag("h2", f"{len(omitted)} more apps, for which there is no room here")
        yield tag("ul", *(tag("li", one_line(verdict_text(app))) for app in omitted))


def _footer(plan: Plan) -> Iterator[Xml]:
    assumed = assumption_texts(plan, most=_MOST_NOTES)
    if assumed:
        entries = (tag("li", one_line(text, 2_000)) for text in assumed)
        yield tag("details", tag("summary", "Taken for granted"), tag("ul", *entries))
    paragraphs = [untouched_text(plan)] if plan.untouched else []
    paragraphs += [*plan.notes[:_MOST_NOTES]]
    paragraphs.append("Times are those of a virtual clock: nothing was deployed to make this page.")
    yield tag("footer", *(tag("p", one_line(paragraph)) for paragraph in paragraphs))
