"""The frame of every page: header, navigation, and the parts that several pages use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import quote, urlencode

from whysync.history.model import AppKey
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line, short_age
from whysync.reports.xml_text import Xml, document, joined, replaced, tag
from whysync.watch.fleet import Fleet
from whysync.web.access import Viewer

ASSETS: Final = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


BODY: Final = Xml("<body>")


def with_change(page: Safe, change: int) -> Safe:
    """The page with the number of the last change that it shows; its stream of events begins after it.

    The number must be from before the page was built: what changes meanwhile may or may not be on it.
    """
    return replaced(page, BODY, Xml(f'<body data-change="{change}">'))


@cache
def asset(name: str) -> bytes:
    return (files("whysync.web") / "static" / name).read_bytes()


@cache
def asset_url(name: str) -> str:
    """Changes with the content, so that browsers may keep it."""
    return f"/static/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:12]}"


def page(title: str, body: Iterable[Xml], *, fleet: Fleet | None, viewer: Viewer, current: str = "") -> Safe:
    """A whole page. `current` is the entry of the navigation that it belongs to."""
    parts = [
        Xml('<!DOCTYPE html>\n<html lang="en">\n<head>'),
        Xml('<meta charset="utf-8"/>'),
        Xml('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        Xml('<meta name="color-scheme" content="light dark"/>'),
        tag("title", f"{one_line(title, 160)} · whysync"),
        tag("link", rel="icon", href=asset_url("icon.svg"), type="image/svg+xml"),
        tag("link", rel="stylesheet", href=asset_url("style.css")),
        Xml(f'<script src="{asset_url("live.js")}" defer="defer"></script>'),
        Xml("</head>"),
        BODY,
        tag("a", "Skip to content", href="#main", class_="skip"),
        _header(fleet, viewer, current),
        Xml('<main id="main" tabindex="-1">'),
        *(_notices(fleet) if fleet is not None else ()),
        *body,
        Xml("</main>"),
        tag(
            "footer",
            tag("p", "whysync only reads: nothing on this page changes a cluster. Secrets are masked."),
        ),
        tag("div", "", id="announcer", class_="visually-hidden", role="status", aria_live="polite"),
        Xml("</body>\n</html>\n"),
    ]
    return document(joined(parts, "\n"))


def _header(fleet: Fleet | None, viewer: Viewer, current: str) -> Xml:
    def link(name: str, target: str) -> Xml:
        if name == current:
            return tag("a", name, href=target, aria_current="page")
        return tag("a", name, href=target)

    links = [link("Fleet", "/"), link("Incidents", "/incidents"), link("Sources", "/sources")]
    user = [tag("span", one_line(viewer.name, 60), class_="user")] if viewer.name else []
    live = [tag("span", "connecting", id="live", class_="live", hidden="hidden")] if fleet is not None else []
    return tag(
        "header",
        tag(
            "div",
            tag("a", tag("b", "why"), "sync", href="/", class_="logo"),
            tag("nav", *links, aria_label="Main") if fleet is not None else "",
            tag("div", *live, *user, "", class_="who"),
            class_="bar",
        ),
    )


def _notices(fleet: Fleet) -> Iterable[Xml]:
    """Sources that do not answer, and a history that cannot be written."""
    for source in fleet.sources():
        if not source.is_healthy:
            since = f" for {age(source.failing_since, fleet.now())}" if source.failing_since else ""
            yield tag(
                "div",
                tag("b", f"{one_line(source.name)} has not been read{since}: "),
                one_line(source.problem, 600),
                tag("p", _sentence(source.advice), " The page shows its last known state.", class_="soft"),
                class_="notice",
                role="alert",
            )
    if fleet.database_problem:
        yield tag(
            "div",
            tag("b", "The history cannot be written: "),
            one_line(fleet.database_problem, 600),
            class_="notice",
            role="alert",
        )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{one_line(text[1:])}." if text else ""


# --- parts ------------------------------------------------------------------------------------------------


def app_url(key: AppKey) -> str:
    return "/apps/" + "/".join(quote(part or "-", safe="") for part in key)


def with_query(path: str, values: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in values.items() if value})
    return f"{path}?{query}" if query else path


def age(time: datetime | None, now: datetime) -> str:
    return short_age(now - time) if time is not None else ""


def duration(start: datetime, now: datetime) -> Xml:
    """How long something lasts: its age, and the beginning on hover."""
    exact = f"since {start:%Y-%m-%d %H:%M:%S} UTC"
    return tag("time", age(start, now), datetime=f"{start:%Y-%m-%dT%H:%M:%SZ}", title=exact)


def moment(time: datetime | None, now: datetime) -> Xml:
    """A time for people: its age, and the time itself on hover and for screen readers."""
    if time is None:
        return tag("span", "unknown", class_="soft")
    exact = f"{time:%Y-%m-%d %H:%M:%S} UTC"
    return tag("time", f"{age(time, now)} ago", datetime=f"{time:%Y-%m-%dT%H:%M:%SZ}", title=exact)


_SYNC_CLASSES: Final = {"Synced": "good", "OutOfSync": "wait"}
_HEALTH_CLASSES: Final = {"Healthy": "good", "Degraded": "bad", "Missing": "wait", "Progressing": "run"}


def sync_badge(status: str) -> Xml:
    return tag("span", one_line(status or "Unknown", 40), class_=f"badge {_SYNC_CLASSES.get(status, 'none')}")


def health_badge(status: str) -> Xml:
    return tag(
        "span", one_line(status or "Unknown", 40), class_=f"badge {_HEALTH_CLASSES.get(status, 'none')}"
    )


def severity_badge(severity: str) -> Xml:
    return tag("span", severity, class_=f"badge sev-{severity}")


def cause_chip(cause: str, *, linked: bool = True) -> Xml:
    name = one_line(cause, 80)
    return (
        tag("a", name, href=with_query("/", {"cause": cause}), class_="chip")
        if linked
        else tag("span", name, class_="chip")
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def share_bar(numbers: Mapping[str, int]) -> Xml:
    """A bar whose parts are as long as the numbers of each class; the numbers are text next to it."""
    total = sum(numbers.values())
    parts: list[Xml] = []
    start = 0.0
    for css_class, number in numbers.items():
        width = 100 * number / total if total else 0
        if number:
            parts.append(tag("rect", x=f"{start:.2f}", y=0, width=f"{width:.2f}", height=4, class_=css_class))
        start += width
    return tag(
        "svg",
        *parts,
        "",
        viewBox="0 0 100 4",
        preserveAspectRatio="none",
        class_="bar-chart",
        aria_hidden="true",
    )
