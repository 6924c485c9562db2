"""`GET /sources`: which sources are read, which do not answer, and whether the history can be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from whysync.errors import WhysyncError
from whysync.history.history import History
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, tag
from whysync.watch.fleet import Fleet, SourceHealth
from whysync.web.access import Viewer
from whysync.web.page import counted, duration, moment, page, with_query


def sources_page(fleet: Fleet, history: History, viewer: Viewer) -> Safe:
    return page("Sources", _body(fleet, history, viewer), fleet=fleet, viewer=viewer, current="Sources")


def _body(fleet: Fleet, history: History, viewer: Viewer) -> Iterator[Xml]:
    sources = fleet.sources()
    failing = sum(not source.is_healthy for source in sources)
    title = f"{failing} of {counted(len(sources), 'source')} not read" if failing else "All sources are read"
    yield tag("section", tag("h1", title if sources else "No sources"), class_="summary")
    yield tag(
        "ul",
        *(_source(source, fleet) for source in sources),
        _history(fleet, history, viewer),
        class_="sources",
    )


def _source(source: SourceHealth, fleet: Fleet) -> Xml:
    now = fleet.now()
    facts: list[tuple[str, Xml | str]] = [
        (
            "apps",
            tag("a", f"{source.apps:,}", href=with_query("/", {"instance": source.name, "state": "all"})),
        ),
        ("last read", moment(source.read_at, now) if source.read_at else "never"),
        ("reads", f"{source.reads:,}"),
        ("failures", f"{source.failures:,}"),
    ]
    if source.failing_since is not None:
        facts.append(("failing for", duration(source.failing_since, now)))
    if source.retry_at is not None:
        seconds = max(round((source.retry_at - now).total_seconds()), 0)
        facts.append(("next try", f"in {seconds} s" if seconds else "now"))
    if not source.is_healthy:
        state = tag("span", "failing", class_="badge bad")
    elif source.read_at is None:
        state = tag("span", "reading", class_="badge wait")
    else:
        state = tag("span", "ok", class_="badge good")
    return _card(source.name, state, source.description, facts, source.problem, source.advice)


def _history(fleet: Fleet, history: History, viewer: Viewer) -> Xml:
    """The database of incidents, and what the sender has still to send."""
    facts: list[tuple[str, Xml | str]] = []
    with suppress(WhysyncError):
        facts.append(("notifications waiting", f"{history.outbox.waiting():,}"))
        if viewer.projects is None:
            facts.append(("open incidents", f"{sum(number for *_, number in history.open_numbers()):,}"))
    problem = fleet.database_problem
    state = tag("span", "failing" if problem else "ok", class_="badge bad" if problem else "badge good")
    return _card("History", state, "Incidents and notifications", facts, problem, "")


def _card(
    name: str, state: Xml, description: str, facts: list[tuple[str, Xml | str]], problem: str, advice: str
) -> Xml:
    parts: list[Xml] = [
        tag("div", tag("h2", one_line(name, 80)), state, class_="title"),
        tag("p", one_line(description, 300), class_="soft"),
    ]
    if problem:
        parts.append(tag("p", one_line(problem, 600)))
        parts.append(tag("p", one_line(advice, 300), class_="soft"))
    items = [tag("div", tag("dt", label), tag("dd", value)) for label, value in facts]
    parts.append(tag("dl", *items, "", class_="facts"))
    return tag("li", *parts, class_="panel edge-critical" if problem else "panel")
