"""`GET /incidents` and `GET /incidents/{id}`: open and past incidents, and the story of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from whysync.history.history import History, IncidentFilter
from whysync.history.model import AppKey, Incident, Outbreak
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line, short_age
from whysync.reports.xml_text import Xml, joined, tag
from whysync.watch.fleet import Fleet
from whysync.web.access import Viewer
from whysync.web.page import (
    app_url,
    cause_chip,
    counted,
    moment,
    page,
    severity_badge,
    share_bar,
    with_query,
)
from whysync.web.timeline import timeline

PAGE_SIZE: Final = 50
_UNSTABLE_FOR: Final = timedelta(days=1)
_LOOP_FOR: Final = timedelta(hours=1)


def filter_of(query: Mapping[str, str], viewer: Viewer) -> IncidentFilter:
    """`app` is a name, after its namespace and instance if these are given: `prod/argocd/shop`."""
    before, outbreak = query.get("continue", ""), query.get("outbreak", "")
    state = query.get("open", "")
    *outer, name = query.get("app", "").strip().rsplit("/", 2)
    instance = outer[0] if len(outer) == 2 else ""
    return IncidentFilter(
        open={"true": True, "false": False}.get(state),
        name=name,
        namespace=outer[-1] if outer else "",
        label=query.get("label", ""),
        projects=viewer.projects,
        instance=instance or query.get("instance", ""),
        project=query.get("project", ""),
        cause=query.get("cause", ""),
        severity=query.get("severity", ""),
        before=int(before) if before.isdecimal() and len(before) < 16 else 0,
        outbreak=int(outbreak) if outbreak.isdecimal() and len(outbreak) < 16 else 0,
        limit=PAGE_SIZE,
    )


def incidents_page(fleet: Fleet, history: History, viewer: Viewer, query: Mapping[str, str]) -> Safe:
    body = _body(fleet, history, viewer, query)
    return page("Incidents", body, fleet=fleet, viewer=viewer, current="Incidents")


def _body(fleet: Fleet, history: History, viewer: Viewer, query: Mapping[str, str]) -> Iterator[Xml]:
    wanted = filter_of(query, viewer)
    incidents = history.incidents(wanted)
    yield tag("h1", "Incidents")
    yield _tabs(query)
    shares = _shares(history, viewer, query, fleet.now())
    yield _filters(shares, query)
    if not wanted.before:
        yield from _outbreaks(history, viewer, fleet)
        yield from _unstable(fleet, history, viewer)
    yield Xml('<div class="fleet"><div>')
    if incidents:
        yield _table(incidents, fleet, query)
    else:
        yield tag("p", "No incidents match.", class_="empty")
    if len(incidents) == PAGE_SIZE:
        target = with_query("/incidents", {**query, "continue": str(incidents[-1].id)})
        yield tag("p", tag("a", "Older incidents", href=target), class_="more")
    yield Xml("</div>")
    yield _share_panel(shares, query)
    yield Xml("</div>")


_Shares = Mapping[str, Sequence[tuple[str, int, timedelta]]]
_COLUMNS: Final = {
    "cause": ("cause", "Causes"),
    "app": ("name", "Apps"),
    "project": ("project", "Projects"),
    "label": ("labels", "Labels"),
    "instance": ("instance", "Argo CD instances"),
    "severity": ("severity", ""),
}
"""What incidents are filtered by: the parameter, its column in the history, and its title."""
_MOST_SHARES: Final = 6
_MOST_OPTIONS: Final = 200
_MOST_NAMES: Final = 5
"""Apps of an outbreak that its row names."""


def _shares(history: History, viewer: Viewer, query: Mapping[str, str], now: datetime) -> _Shares:
    """Incidents by each column, among those that the other filters leave."""
    return {
        name: history.shares(filter_of({**query, name: "", "continue": ""}, viewer), column=column, now=now)
        for name, (column, _) in _COLUMNS.items()
    }


def _filters(shares: _Shares, query: Mapping[str, str]) -> Xml:
    fields: list[Xml] = [
        tag(
            "label",
            tag("span", "App", class_="visually-hidden"),
            tag(
                "input",
                type="search",
                name="app",
                id="search",
                value=query.get("app", ""),
                placeholder="Name of an app  ( / )",
                autocomplete="off",
                list="apps",
            ),
            class_="search",
        ),
        tag(
            "datalist",
            *(tag("option", "", value=name) for name, _, _ in shares["app"][:_MOST_OPTIONS]),
            id="apps",
        ),
    ]
    chosen = [name for name in _COLUMNS if name != "app" and query.get(name)]
    selects = [
        _select(name, shares[name], query.get(name, ""))
        for name in _COLUMNS
        if name != "app" and (len(shares[name]) > 1 or query.get(name))
    ]
    fields.append(
        tag(
            "details",
            tag("summary", f"Filters ({len(chosen)})" if chosen else "Filters"),
            tag("div", *selects, "", class_="selects"),
            class_="more-filters",
            data_key="filters",
            **({"open": "open"} if chosen else {}),
        )
    )
    fields += [
        tag("input", type="hidden", name=name, value=query[name])
        for name in ("open", "outbreak")
        if query.get(name)
    ]
    fields.append(tag("button", "Filter", type="submit", class_="no-script"))
    if chosen or query.get("app"):
        fields.append(tag("a", "Clear", href="/incidents", class_="clear"))
    return tag(
        "form",
        *fields,
        class_="filters",
        method="get",
        action="/incidents",
        role="search",
        data_live="submit",
    )


def _select(name: str, shares: Sequence[tuple[str, int, timedelta]], chosen: str) -> Xml:
    numbers = {value: number for value, number, _ in shares[:_MOST_OPTIONS] if value}
    options = [tag("option", f"any {name}", value="")]
    for value in sorted(numbers.keys() | ({chosen} if chosen else set[str]())):
        extra = {"selected": "selected"} if value == chosen else {}
        text = f"{one_line(value, 60)} ({numbers.get(value, 0)})"
        options.append(tag("option", text, value=value, **extra))
    return tag(
        "label",
        tag("span", "Argo CD" if name == "instance" else name),
        tag("select", *options, name=name, id=f"filter-{name}", class_="chosen" if chosen else ""),
    )


def _share_panel(shares: _Shares, query: Mapping[str, str]) -> Xml:
    """How often and how long: the most frequent causes, apps, projects and labels; each is a filter."""
    sections: list[Xml] = []
    for name, (_, title) in _COLUMNS.items():
        found = [share for share in shares[name] if share[0]]
        if title and found:
            most = max(number for _, number, _ in found)
            rows = [tag("li", _share(name, share, most, query)) for share in found[:_MOST_SHARES]]
            number = tag("span", f"{len(found):,}")
            sections.append(tag("section", tag("h3", title, " ", number), tag("ul", *rows)))
    heading = tag("h2", "How often, and how long in total", class_="aside-title")
    return tag("aside", heading, *sections, "", class_="where-panel", aria_label="How often")


def _share(name: str, share: tuple[str, int, timedelta], most: int, query: Mapping[str, str]) -> Xml:
    value, number, time = share
    is_chosen = query.get(name, "") == value
    state = {"aria_current": "true"} if is_chosen else {}
    return tag(
        "a",
        tag("span", one_line(value, 60), class_="name"),
        " ",
        tag(
            "span",
            tag("b", f"{number:,}"),
            tag("span", " incidents,", class_="visually-hidden"),
            f" · {short_age(time)}",
            tag("span", " in total", class_="visually-hidden"),
            class_="numbers",
        ),
        share_bar({"wait": number, "rest": most - number}),
        href=with_query("/incidents", {**query, name: "" if is_chosen else value, "continue": ""}),
        class_="place-link",
        **state,
    )


def _tabs(query: Mapping[str, str]) -> Xml:
    def tab(title: str, value: str) -> Xml:
        target = with_query("/incidents", {**query, "open": value, "continue": ""})
        if query.get("open", "") == value:
            return tag("a", title, href=target, aria_current="true")
        return tag("a", title, href=target)

    others = {name: query[name] for name in _COLUMNS if query.get(name)}
    cleared = [
        tag(
            "a",
            f"{name}: {one_line(value, 60)} ✕",
            href=with_query("/incidents", {**query, name: "", "continue": ""}),
            class_="chip",
            aria_label=f"Remove filter {name} {value}",
        )
        for name, value in others.items()
    ]
    return tag(
        "nav",
        tab("All", ""),
        tab("Open", "true"),
        tab("Closed", "false"),
        *cleared,
        class_="tabs",
        aria_label="Filter incidents",
    )


def _outbreaks(history: History, viewer: Viewer, fleet: Fleet) -> Iterator[Xml]:
    shared = [outbreak for outbreak in history.open_outbreaks() if outbreak.open_apps > 1]
    if not shared or viewer.projects is not None:
        return
    yield tag("h2", "Outbreaks now")
    yield tag("ul", *(_outbreak(outbreak, fleet) for outbreak in shared[:20]), class_="log panel")


def _outbreak(outbreak: Outbreak, fleet: Fleet) -> Xml:
    return tag(
        "li",
        severity_badge(outbreak.severity),
        " ",
        tag("a", counted(outbreak.open_apps, "app"), href=f"/incidents?outbreak={outbreak.id}"),
        f": {one_line(outbreak.what, 300)}, opened ",
        moment(outbreak.opened_at, fleet.now()),
    )


def _unstable(fleet: Fleet, history: History, viewer: Viewer) -> Iterator[Xml]:
    now = fleet.now()
    flapping = history.unstable_apps(now - _UNSTABLE_FOR)
    loops = history.frequent_syncs(now - _LOOP_FOR)
    rows = [
        *(
            _unstable_row(key, f"broke {number} times in the last day", "flapping")
            for key, number in flapping
            if _visible(key, fleet, viewer)
        ),
        *(
            _unstable_row(key, f"synced {number} times to one commit in the last hour", "sync loop")
            for key, number in loops
            if _visible(key, fleet, viewer)
        ),
    ]
    if rows:
        yield tag("h2", "Unstable")
        yield tag("ul", *rows[:20], class_="log panel")


def _visible(key: AppKey, fleet: Fleet, viewer: Viewer) -> bool:
    state = fleet.app(key)
    return viewer.projects is None or (state is not None and viewer.sees(state))


def _unstable_row(key: AppKey, text: str, word: str) -> Xml:
    return tag(
        "li",
        tag("span", word, class_="badge wait"),
        " ",
        tag("a", one_line(key.name, 120), href=app_url(key)),
        f" {text}",
    )


def _groups(incidents: Sequence[Incident], *, by_outbreak: bool) -> Iterator[Sequence[Incident]]:
    """Incidents of one outbreak that follow one another are one row."""
    for _, group in groupby(
        incidents, key=lambda incident: incident.outbreak if by_outbreak else incident.id
    ):
        yield tuple(group)


def _table(incidents: Sequence[Incident], fleet: Fleet, query: Mapping[str, str]) -> Xml:
    heads = ("State", "App", "What", "First seen", "Duration")
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    rows = [
        _row(group[0], fleet) if len(group) == 1 else _outbreak_row(group, fleet)
        for group in _groups(incidents, by_outbreak=not query.get("outbreak"))
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="list")
    return tag("div", table, class_="scroll panel", tabindex="0", role="region", aria_label="Incidents")


def _state_badge(incident: Incident) -> Xml:
    if incident.closed_at is not None:
        return tag("span", "closed", class_="badge none")
    return (
        tag("span", "recovering", class_="badge good")
        if incident.recovered_at
        else tag("span", "open", class_="badge bad")
    )


def _outbreak_row(incidents: Sequence[Incident], fleet: Fleet) -> Xml:
    """Apps with one cause in common; the open ones decide the state."""
    first = min(incidents, key=lambda incident: (not incident.is_open, incident.opened_at))
    names = sorted({incident.app.name for incident in incidents})
    links = [
        joined((", " if number else "", tag("a", one_line(name, 60), href=f"/incidents/{id}")))
        for number, (name, id) in enumerate(_latest(incidents)[:_MOST_NAMES])
    ]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    longest = max(incident.duration(fleet.now()) for incident in incidents)
    target = with_query("/incidents", {"outbreak": str(first.outbreak)})
    apps = [tag("a", tag("b", counted(len(names), "app")), href=target), " "]
    return _cells(
        _state_badge(first),
        [*apps, tag("span", *links, more, class_="names")],
        first,
        min(incident.opened_at for incident in incidents),
        f"up to {short_age(longest)}",
        fleet,
    )


def _latest(incidents: Sequence[Incident]) -> list[tuple[str, int]]:
    """The apps by name, each with its newest incident."""
    return sorted({incident.app.name: incident.id for incident in reversed(incidents)}.items())


def _row(incident: Incident, fleet: Fleet) -> Xml:
    changes = f", {counted(incident.cause_changes, 'cause change')}" if incident.cause_changes else ""
    flaps = f", {counted(incident.flaps, 'flap')}" if incident.flaps else ""
    app = [
        tag("a", one_line(incident.app.name, 120), href=f"/incidents/{incident.id}"),
        tag("span", f" {one_line(incident.project, 60)}", class_="soft"),
    ]
    duration = f"{short_age(incident.duration(fleet.now()))}{changes}{flaps}"
    return _cells(_state_badge(incident), app, incident, incident.opened_at, duration, fleet)


def _cells(
    state: Xml, app: Sequence[Xml | str], incident: Incident, opened_at: datetime, duration: str, fleet: Fleet
) -> Xml:
    problem = incident.problem
    cause = tag(
        "a",
        one_line(problem.cause, 60),
        href=with_query("/incidents", {"cause": problem.cause}),
        class_="chip",
    )
    return tag(
        "tr",
        tag("td", state, data_label="State"),
        tag("td", *app, data_label="App"),
        tag("td", one_line(problem.verdict, 200), " ", cause, class_="what", data_label="What"),
        tag("td", moment(opened_at, fleet.now()), data_label="First seen"),
        tag("td", duration, data_label="Duration"),
        class_=f"edge-{problem.severity}" if incident.is_open else "past",
    )


def incident_page(incident: Incident, fleet: Fleet, history: History, viewer: Viewer) -> Safe:
    title = f"Incident {incident.id}: {incident.app.name}"
    return page(
        title, _incident(incident, fleet, history, viewer), fleet=fleet, viewer=viewer, current="Incidents"
    )


def _incident(incident: Incident, fleet: Fleet, history: History, viewer: Viewer) -> Iterator[Xml]:
    now, problem = fleet.now(), incident.problem
    yield tag("p", tag("a", "Incidents", href="/incidents"), f" / {incident.id}", class_="crumbs soft")
    yield tag(
        "div",
        tag("h1", one_line(incident.app.name, 200)),
        _state_badge(incident),
        tag("span", f"for {short_age(incident.duration(now))}", class_="soft"),
        class_="title",
        data_page_app=str(incident.app),
    )
    parts: list[Xml] = [
        tag("p", one_line(problem.verdict, 600), class_="headline"),
        tag("p", severity_badge(problem.severity), " ", cause_chip(problem.cause), class_="meta"),
    ]
    if problem.root and problem.root != problem.verdict:
        parts.append(tag("p", tag("b", "Root cause: "), one_line(problem.root, 600)))
    if problem.fix:
        parts.append(tag("p", tag("b", "First fix: "), one_line(problem.fix, 600)))
    yield tag("section", *parts, class_=f"answer edge-{problem.severity}")
    yield tag("dl", *_facts(incident, history, viewer), class_="facts")
    yield tag(
        "section",
        tag("h2", "What happened", id="story"),
        timeline(history.timeline_of_incident(incident.id), now),
        class_="panel",
        aria_labelledby="story",
    )
    if fleet.app(incident.app) is not None:
        yield tag("p", tag("a", "Current state of the app", href=app_url(incident.app)), class_="raw")


def _facts(incident: Incident, history: History, viewer: Viewer) -> Iterator[Xml]:
    outbreak = history.outbreak(incident.outbreak)
    closed = incident.closed_at
    # the others may be in projects that the viewer may not see
    others = outbreak.total_apps - 1 if outbreak is not None and viewer.projects is None else 0
    for name, value in (
        ("project", incident.project),
        ("Argo CD", incident.app.instance),
        ("first seen", f"{incident.opened_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("closed", f"{closed:%Y-%m-%d %H:%M:%S} UTC" if closed else ""),
        ("first cause", incident.first_cause if incident.cause_changes else ""),
        ("flaps", str(incident.flaps) if incident.flaps else ""),
        ("same cause", f"{counted(others, 'other app')}" if others else ""),
    ):
        if value:
            yield tag("div", tag("dt", name), tag("dd", one_line(value, 120)))
