"""`GET /`: what is broken now, grouped by cause and outbreak, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.runner import group_key
from whysync.history.model import AppKey
from whysync.reports.diagnose_text import answer_of
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, tag
from whysync.watch.fleet import AppState, Fleet
from whysync.web.access import Viewer
from whysync.web.page import (
    age,
    app_url,
    cause_chip,
    counted,
    health_badge,
    page,
    severity_badge,
    share_bar,
    sync_badge,
    with_query,
)

_MOST_ROWS: Final = 12
"""Apps of a group that are shown before "show all"."""
_MOST_HEALTHY: Final = 500

COLUMNS: Final[Mapping[str, Callable[[AppState], str]]] = {
    "severity": lambda state: state.row.severity if state.broken else "",
    "cause": lambda state: state.row.cause,
    "project": lambda state: state.row.project,
    "sync": lambda state: state.row.sync or "Unknown",
    "health": lambda state: state.row.health or "Unknown",
    "instance": lambda state: state.key.instance,
    "cluster": lambda state: state.row.cluster,
    "namespace": lambda state: state.row.destination,
    "policy": lambda state: state.row.policy,
}
"""The columns that apps can be filtered by, with the value of each app."""
_LABELS: Final = {"instance": "Argo CD", "policy": "sync policy"}
_IN_CLUSTER: Final = "https://kubernetes.default.svc"
_MOST_PLACES: Final = 8
"""Instances, clusters or projects that the overview shows."""
_MOST_LABELS: Final = 200
_PLACES: Final = {"instance": "Argo CD instances", "cluster": "Clusters", "project": "Projects"}


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is searched in names, causes, verdicts and labels; `label` is one of them, `team=shop`.

    `state`: only `broken` apps (the default), those in `progress`, those that are `fine`, or `all`.
    """

    text: str = ""
    columns: Mapping[str, str] = {}
    label: str = ""
    state: str = ""

    @staticmethod
    def of(query: Mapping[str, str]) -> Filter:
        columns = {name: query[name] for name in COLUMNS if query.get(name)}
        return Filter(
            text=query.get("q", "").strip(),
            columns=columns,
            label=query.get("label", ""),
            state=query.get("state", ""),
        )

    @property
    def chosen(self) -> dict[str, str]:
        """The columns and the label that narrow the list."""
        return {**self.columns, **({"label": self.label} if self.label else {})}

    @property
    def query(self) -> dict[str, str]:
        return {"q": self.text, **self.chosen, "state": self.state}

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.chosen

    def matches(self, state: AppState) -> bool:
        if any(COLUMNS[name](state) != value for name, value in self.columns.items()):
            return False
        if self.label and self.label not in _labels(state):
            return False
        words = self.text.lower().split()
        if not words:
            return True
        first = state.report.first
        row = state.row
        labels = " ".join(_labels(state))
        searched = f"{state.key} {row.project} {row.cluster} {row.destination} {row.cause} {labels}"
        haystack = f"{searched} {first.verdict if first else ''} {first.root or '' if first else ''}".lower()
        return all(word in haystack for word in words)


def _labels(state: AppState) -> list[str]:
    return [f"{key}={value}" for key, value in state.labels.items()]


class CauseGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Apps with one cause in common."""

    cause: str
    severity: str
    what: str
    apps: tuple[AppState, ...]

    @property
    def order(self) -> tuple[int, int, str]:
        return (-Severity(self.severity).weight, -len(self.apps), self.what)


def groups_of(states: Sequence[AppState]) -> tuple[CauseGroup, ...]:
    """Broken apps by cause and evidence key, the worst and largest groups first."""
    members: dict[object, list[AppState]] = {}
    for state in states:
        first = state.report.first
        members.setdefault(group_key(first) if first else state.key, []).append(state)
    groups = map(_group, members.values())
    return tuple(sorted(groups, key=lambda group: group.order))


def _group(states: list[AppState]) -> CauseGroup:
    first = states[0].report.first
    severities = [Severity(state.row.severity or "warning") for state in states]
    what = answer_of(states[0].report)
    if first is not None and len(states) > 1:
        what = _common_answer(states)
    return CauseGroup(
        cause=first.cause if first else "unexplained",
        severity=max(severities, key=lambda severity: severity.weight).value,
        what=one_line(what, 300),
        apps=tuple(states),
    )


def _common_answer(states: list[AppState]) -> str:
    """The sentence for all apps of a group: without the names of single objects."""
    from whysync.app import shared_causes

    groups = shared_causes([state.report for state in states])
    return groups[0].what if groups and groups[0].what else answer_of(states[0].report)


class _Ages:
    """Since when apps are broken: as their status tells, or since whysync has seen it."""

    def __init__(self, fleet: Fleet, seen: Mapping[AppKey, datetime]) -> None:
        self.fleet = fleet
        self._seen = seen

    def of(self, state: AppState) -> tuple[str, str]:
        """The age, and the time for those who want to know."""
        if state.since is not None:
            return age(state.since, self.fleet.now()), f"broken since {state.since:%Y-%m-%d %H:%M:%S} UTC"
        seen = self._seen.get(state.key)
        return age(seen, self.fleet.now()), f"first seen {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else ""


def fleet_page(
    fleet: Fleet, viewer: Viewer, query: Mapping[str, str], seen: Mapping[AppKey, datetime] | None = None
) -> Safe:
    """`seen`: since when apps have been seen broken, for those whose status does not tell."""
    wanted = Filter.of(query)
    visible = [state for state in fleet.apps() if viewer.sees(state)]
    matching = [state for state in visible if wanted.matches(state)]
    broken = [state for state in matching if state.broken]
    title = f"{len(broken)} of {len(matching)} apps need attention"
    return page(
        title,
        _body(_Ages(fleet, seen or {}), visible, matching, wanted),
        fleet=fleet,
        viewer=viewer,
        current="Fleet",
    )


def _body(ages: _Ages, visible: list[AppState], matching: list[AppState], wanted: Filter) -> Iterator[Xml]:
    broken = [state for state in matching if state.broken]
    progress = [state for state in matching if state.in_progress]
    fine = [state for state in matching if not state.broken and not state.in_progress]
    yield _summary(ages.fleet, broken, progress, fine, wanted)
    yield _filters(visible, wanted)
    yield from _chosen(wanted)
    yield Xml('<div class="fleet"><div class="broken-list">')
    yield from _lists(ages, visible, broken, progress, fine, wanted)
    yield Xml("</div>")
    if visible:
        yield _overview(visible, matching, wanted)
    yield Xml("</div>")


def _lists(
    ages: _Ages,
    visible: list[AppState],
    broken: list[AppState],
    progress: list[AppState],
    fine: list[AppState],
    wanted: Filter,
) -> Iterator[Xml]:
    if wanted.state in ("", "broken", "all"):
        groups = groups_of(broken)
        if groups:
            yield tag("h2", "Broken now, by cause", class_="visually-hidden")
        for group in groups:
            yield _group_card(group, ages, wanted)
        if not groups:
            yield _nothing_broken(ages.fleet, visible, wanted)
    if wanted.state in ("progress", "all"):
        yield from _plain_list("In progress", progress, ages)
    if wanted.state in ("fine", "all"):
        yield from _plain_list("Healthy", fine, ages)


def _summary(
    fleet: Fleet, broken: list[AppState], progress: list[AppState], fine: list[AppState], wanted: Filter
) -> Xml:
    total = len(broken) + len(progress) + len(fine)
    severities = Counter(state.row.severity or "warning" for state in broken)
    headline = f"{counted(len(broken), 'app')} {'needs' if len(broken) == 1 else 'need'} attention"
    if not fleet.is_ready:
        headline = "Reading the fleet …"
    elif not broken:
        headline = "Nothing is broken" if total else "No apps"

    def tile(number: int, label: str, css_class: str, **changes: str) -> Xml:
        target = with_query("/", {**wanted.query, "severity": "", **changes})
        return tag(
            "a", tag("b", f"{number:,}"), " ", tag("span", label), href=target, class_=f"tile {css_class}"
        )

    tiles = [
        *(
            tile(severities[name], name, f"sev-{name}", severity=name, state="")
            for name in ("critical", "warning")
            if severities[name]
        ),
        *([tile(len(progress), "in progress", "run", state="progress")] if progress else []),
        tile(len(fine), "healthy", "quiet", state="fine"),
    ]
    numbers = {
        "bad": severities["critical"],
        "wait": len(broken) - severities["critical"],
        "run": len(progress),
        "good": len(fine),
    }
    return tag(
        "section",
        tag("h1", headline),
        tag("div", *tiles, class_="tiles"),
        share_bar(numbers),
        class_="summary",
    )


def _filters(visible: list[AppState], wanted: Filter) -> Xml:
    fields = [
        tag(
            "label",
            tag("span", "Search", class_="visually-hidden"),
            tag(
                "input",
                type="search",
                name="q",
                id="search",
                value=wanted.text,
                placeholder="Search apps, causes, labels  ( / )",
                autocomplete="off",
            ),
            class_="search",
        )
    ]
    selects: list[Xml] = []
    for name, value_of in COLUMNS.items():
        counts = Counter(value for state in visible if (value := value_of(state)))
        chosen = wanted.columns.get(name, "")
        if len(counts) > 1 or chosen:
            selects.append(_select(name, counts, chosen))
    labels = Counter(label for state in visible for label in _labels(state))
    if labels or wanted.label:
        selects.append(_select("label", Counter(dict(labels.most_common(_MOST_LABELS))), wanted.label))
    number = len(wanted.chosen)
    extra = {"open": "open"} if number else {}
    fields.append(
        tag(
            "details",
            tag("summary", f"Filters ({number})" if number else "Filters"),
            tag("div", *selects, "", class_="selects"),
            class_="more-filters",
            data_key="filters",
            **extra,
        )
    )
    if wanted.state:
        fields.append(tag("input", type="hidden", name="state", value=wanted.state))
    fields.append(tag("button", "Filter", type="submit", class_="no-script"))
    if not wanted.is_empty or wanted.state:
        fields.append(tag("a", "Clear", href="/", class_="clear"))
    return tag("form", *fields, class_="filters", method="get", action="/", role="search", data_live="submit")


def _select(name: str, counts: Counter[str], chosen: str) -> Xml:
    label = _LABELS.get(name, name)
    options = [tag("option", f"any {label}", value="")]
    values = sorted(set(counts) | ({chosen} if chosen else set()))
    for value in values:
        shown = f"{one_line(_place_name(name, value), 60)} ({counts[value]})"
        extra = {"selected": "selected"} if value == chosen else {}
        options.append(tag("option", shown, value=value, **extra))
    css_class = "chosen" if chosen else ""
    return tag(
        "label",
        tag("span", label),
        tag("select", *options, name=name, id=f"filter-{name}", class_=css_class),
    )


def _chosen(wanted: Filter) -> Iterator[Xml]:
    """The filters in force; each is a link that removes it."""
    if wanted.chosen:
        chips = [
            tag(
                "li",
                tag(
                    "a",
                    f"{_LABELS.get(name, name)}: {one_line(_place_name(name, value), 60)} ",
                    tag("span", "✕", aria_hidden="true"),
                    href=with_query("/", {**wanted.query, name: ""}),
                    class_="chip chosen",
                    aria_label=f"Remove filter {_LABELS.get(name, name)} {one_line(value, 60)}",
                ),
            )
            for name, value in wanted.chosen.items()
        ]
        yield tag("ul", *chips, class_="chosen-filters", aria_label="Filters")


def _overview(visible: list[AppState], matching: list[AppState], wanted: Filter) -> Xml:
    """Instances, clusters and projects with their broken and all apps; each filters the list."""
    parts = [
        place
        for name, title in _PLACES.items()
        if (place := _places(name, title, visible if wanted.columns.get(name) else matching, wanted))
    ]
    return tag(
        "aside",
        tag("h2", "Where", class_="visually-hidden"),
        *parts,
        "",
        class_="where-panel",
        aria_label="Where",
    )


def _places(name: str, title: str, states: list[AppState], wanted: Filter) -> Xml | None:
    value_of = COLUMNS[name]
    totals = Counter(value for state in states if (value := value_of(state)))
    broken = Counter(value_of(state) for state in states if state.broken)
    ordered = sorted(totals, key=lambda value: (-broken[value], -totals[value], value))
    if not ordered:
        return None
    chosen = wanted.columns.get(name, "")
    rows = [
        _place(
            one_line(_place_name(name, value), 60),
            broken[value],
            totals[value],
            with_query("/", {**wanted.query, name: "" if value == chosen else value}),
            is_chosen=value == chosen,
        )
        for value in ordered[:_MOST_PLACES]
    ]
    more = len(ordered) - _MOST_PLACES
    extra = [tag("li", f"and {more:,} more in the filters", class_="soft")] if more > 0 else []
    return tag("section", tag("h3", title, " ", tag("span", f"{len(ordered):,}")), tag("ul", *rows, *extra))


def _place(name: str, broken: int, total: int, target: str, *, is_chosen: bool) -> Xml:
    state = {"aria_current": "true"} if is_chosen else {}
    link = tag(
        "a",
        tag("span", name, class_="name"),
        " ",
        tag("span", tag("b", f"{broken:,}"), f" of {total:,} broken", class_="numbers"),
        share_bar({"bad": broken, "good": total - broken}),
        href=target,
        class_="place-link" if broken else "place-link quiet",
        **state,
    )
    return tag("li", link)


def _place_name(name: str, value: str) -> str:
    return "in-cluster" if name == "cluster" and value == _IN_CLUSTER else value


def _group_card(group: CauseGroup, ages: _Ages, wanted: Filter) -> Xml:
    css_class = f"group edge-{group.severity}"
    badges = tag("p", severity_badge(group.severity), " ", cause_chip(group.cause), class_="meta")
    if len(group.apps) == 1:
        body = tag("div", tag("h3", group.what), badges, class_="single")
        row = tag("ul", _row(group.apps[0], ages), class_="rows")
        return tag("article", row, body, class_=css_class, data_cause=group.cause)
    title = tag("h3", tag("b", f"{counted(len(group.apps), 'app')}: ", class_="count"), group.what)
    head = tag("header", title, badges, class_="group-head")
    shown = group.apps if wanted.columns.get("cause") else group.apps[:_MOST_ROWS]
    parts = [head, tag("ul", *(_row(state, ages) for state in shown), class_="rows many")]
    if len(shown) < len(group.apps):
        target = with_query("/", {**wanted.query, "cause": group.cause})
        parts.append(tag("p", tag("a", f"Show all {len(group.apps)} apps", href=target), class_="more"))
    return tag("article", *parts, class_=css_class, data_cause=group.cause)


def _row(state: AppState, ages: _Ages) -> Xml:
    places = filter(None, (state.row.project, _cluster(state), state.row.destination))
    since, exact = ages.of(state)
    return tag(
        "li",
        tag(
            "div",
            tag("a", one_line(state.key.name, 120), href=app_url(state.key), class_="app"),
            tag("span", one_line(" · ".join(places), 120), class_="soft place"),
            class_="who",
        ),
        tag("div", sync_badge(state.row.sync), " ", health_badge(state.row.health), class_="badges"),
        tag("span", since, class_="since soft", title=exact),
        data_app=str(state.key),
    )


def _cluster(state: AppState) -> str:
    return _place_name("cluster", state.row.cluster)


def _nothing_broken(fleet: Fleet, visible: list[AppState], wanted: Filter) -> Xml:
    if not fleet.is_ready:
        text = "The first look is running. This page fills by itself."
    elif not visible:
        text = "The sources have no Application that you may see."
    elif not wanted.is_empty:
        text = "No broken app matches the filter."
    else:
        text = f"All {len(visible):,} apps are Synced and Healthy, or on their way."
    return tag("p", text, class_="empty")


def _plain_list(title: str, states: list[AppState], ages: _Ages) -> Iterator[Xml]:
    yield tag("h2", f"{title} ({len(states):,})")
    ordered = sorted(states, key=lambda state: (state.key.name, state.key))
    rows = [_row(state, ages) for state in ordered[:_MOST_HEALTHY]]
    yield tag("article", tag("ul", *rows, "", class_="rows"), class_="group")
    if len(states) > _MOST_HEALTHY:
        yield tag("p", f"and {len(states) - _MOST_HEALTHY:,} more: narrow the search", class_="soft")
