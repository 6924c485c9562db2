"""Tool `explain`: the page of a cause or a rule, or the possible causes of an error message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from whysync import app
from whysync.diagnosis.rule import registry
from whysync.errors import NotFound
from whysync.mcp.answers import Page, Value
from whysync.mcp.arguments import Arguments, CursorText, Limit, Message
from whysync.mcp.context import ToolContext, page_of
from whysync.mcp.untrusted import Untrusted, untrusted
from whysync.messages.pasted import clean
from whysync.queries.check_commands import checks_for
from whysync.queries.possible_causes import PossibleCause, TextAnswer

_NO_FACTS = "rules"
_MOST_CHECKS = 3


class Explain(Arguments, frozen=True, kw_only=True):
    text: Annotated[
        Message | None,
        msgspec.Meta(description="a cause, a rule, or an error message; without it, all causes are listed"),
    ] = None
    limit: Limit = 50
    cursor: CursorText = ""


class Row(Value, frozen=True, kw_only=True):
    """A rule, or a possible cause of a message. `page` is whysync's own documentation."""

    cause: str
    rule: str
    title: str = ""
    page: str = ""
    confidence: str = ""
    why: Untrusted | None = None
    checks: tuple[Untrusted, ...] = ()
    fix: Untrusted | None = None


class Explanation(Page, frozen=True, kw_only=True):
    total: int
    rows: tuple[Row, ...] = ()
    not_understood: tuple[Untrusted, ...] = ()
    next: str = ""


def answer(arguments: Explain, context: ToolContext) -> Explanation:
    rows, unknown = _rows(arguments.text)
    _, offset = context.start_of_page("explain", arguments)

    def build(shown: Sequence[Row]) -> Explanation:
        return Explanation(
            total=len(rows),
            rows=tuple(shown),
            not_understood=unknown,
            next="call diagnose with the name of the app: it reads the facts behind the message"
            if unknown or any(row.why for row in shown)
            else "",
        )

    return page_of("explain", arguments, _NO_FACTS, rows, build, offset=offset, most_items=arguments.limit)


def _rows(text: str | None) -> tuple[list[Row], tuple[Untrusted, ...]]:
    if text is None or not clean(text):
        every = sorted(registry(), key=lambda rule: (rule.cause, rule.id))
        return [Row(cause=rule.cause, rule=rule.id, title=rule.title) for rule in every], ()
    if len(text.split()) > 1:
        return _possible(app.explained_text(text))
    try:
        rules = app.explained(text)
    except NotFound:
        return _possible(app.explained_text(text))
    return [Row(cause=rule.cause, rule=rule.id, title=rule.title, page=rule.docs) for rule in rules], ()


def _possible(answer: TextAnswer) -> tuple[list[Row], tuple[Untrusted, ...]]:
    unknown = () if answer.causes else tuple(untrusted(text.text) for text in answer.not_understood[:3])
    return [_row(cause) for cause in answer.causes], unknown


def _row(possible: PossibleCause) -> Row:
    finding = possible.finding
    return Row(
        cause=finding.cause,
        rule=finding.rule,
        confidence=finding.confidence.value,
        why=untrusted(finding.verdict, 400),
        checks=tuple(
            untrusted(command, 300) for command in checks_for(finding, possible.case)[:_MOST_CHECKS]
        ),
        fix=untrusted(finding.fixes[0].title, 300) if finding.fixes else None,
    )
