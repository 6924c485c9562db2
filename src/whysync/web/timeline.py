"""The timeline of an app or an incident as a list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from whysync.history.model import EventKind, TimelineEvent
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, tag
from whysync.web.page import moment

_CLASSES: Final = {
    EventKind.OPENED: "bad",
    EventKind.FLAPPED: "bad",
    EventKind.CAUSE_CHANGED: "wait",
    EventKind.RECOVERED: "good",
    EventKind.CLOSED: "good",
}


def timeline(events: Sequence[TimelineEvent], now: datetime) -> Xml:
    if not events:
        return tag("p", "Nothing has been recorded yet.", class_="soft")
    rows = [
        tag(
            "li",
            moment(event.at, now),
            " ",
            text_of(event),
            class_=f"event {_CLASSES.get(event.kind, 'none')}",
        )
        for event in events
    ]
    return tag("ol", *rows, class_="timeline")


def text_of(event: TimelineEvent) -> str:
    text, detail = one_line(event.text, 300), one_line(event.detail, 120)
    match event.kind:
        case EventKind.OPENED:
            return f"broken: {event.cause}: {text}"
        case EventKind.CAUSE_CHANGED:
            return f"the cause changed from {detail} to {event.cause}: {text}"
        case EventKind.RECOVERED:
            return "recovered"
        case EventKind.FLAPPED:
            return f"broken again: {event.cause}"
        case EventKind.CLOSED:
            return "incident closed"
        case EventKind.APP_DELETED:
            return "the Application was deleted"
        case EventKind.SYNC:
            return f"sync {detail}{f' at {_commit(text)}' if text else ''}"
        case EventKind.REVISION:
            return f"new revision {_commit(detail)}{f' after {_commit(text)}' if text else ''}"
        case EventKind.STATUS:
            return f"status {detail}{f', before {text}' if text else ''}"
        case EventKind.NOTIFIED:
            return f"notification sent to {detail} ({text})"


def _commit(revision: str) -> str:
    return revision[:8] if len(revision) == 40 else revision
