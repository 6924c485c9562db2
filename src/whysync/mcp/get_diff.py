"""Tool `get_diff`: differing fields between Git and the cluster, with the writer of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from whysync.json_tree import Json, Missing
from whysync.mcp.answers import Page, Value
from whysync.mcp.arguments import AppName, Arguments, CursorText, Filter, Limit
from whysync.mcp.context import ToolContext, page_of, reading_of_app
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import Untrusted, name, untrusted
from whysync.reports.app_diff import AppDiff, ResourceDiff, State

_SHOWN = (State.DIFFERS, State.MISSING, State.EXTRA, State.ERROR, State.NOT_PROVIDED)


class GetDiff(Arguments, frozen=True, kw_only=True):
    app: AppName
    resource: Annotated[
        Filter, msgspec.Meta(description="only resources whose Kind namespace/name contains this")
    ] = ""
    limit: Limit = 50
    cursor: CursorText = ""


class FieldRow(Value, frozen=True, kw_only=True):
    """One differing field, or one resource that exists on one side only (then without a field)."""

    resource: Untrusted
    state: str
    field: Untrusted | None = None
    git: Untrusted | None = None
    live: Untrusted | None = None
    writer: Untrusted | None = None
    note: Untrusted | None = None


class Diff(Page, frozen=True, kw_only=True):
    """`rows` in the order of `state`; a side without the field has no value."""

    app: str
    sync: str
    differing: int
    missing: int
    extra: int
    total_rows: int
    problem: Untrusted | None = None
    rows: tuple[FieldRow, ...] = ()


def answer(arguments: GetDiff, context: ToolContext) -> Diff:
    reading, offset = context.start_of_page("get_diff", arguments)
    facts = reading_of_app(context, arguments.app, reading)
    diff = AppDiff(facts.case(arguments.app), selects=lambda _: True)
    shown = [resource for resource in diff.in_state(*_SHOWN) if _selected(resource, arguments.resource)]
    if arguments.resource and not any(_selected(resource, arguments.resource) for resource in diff.resources):
        raise ToolError(
            what=f"no resource of this app matches {name(arguments.resource)}",
            why="the filter is a part of 'Kind namespace/name', such as Deployment shop/web",
            next="call get_diff without resource",
        )
    rows = [row for resource in shown for row in _rows(resource)]
    problem = diff.problem or diff.settings_problem

    def build(page: Sequence[FieldRow]) -> Diff:
        return Diff(
            app=name(diff.case.qualified_name),
            sync=str(diff.comparison.sync) if diff.comparison else "Unknown",
            differing=len(diff.in_state(State.DIFFERS)),
            missing=len(diff.in_state(State.MISSING)),
            extra=len(diff.in_state(State.EXTRA)),
            total_rows=len(rows),
            problem=untrusted(problem, 600) if problem else None,
            rows=tuple(page),
        )

    return page_of("get_diff", arguments, facts.id, rows, build, offset=offset, most_items=arguments.limit)


def _selected(resource: ResourceDiff, words: str) -> bool:
    return words.lower() in str(resource.resource.ref).lower()


def _rows(resource: ResourceDiff) -> Iterator[FieldRow]:
    row = FieldRow(resource=untrusted(str(resource.resource.ref), 300), state=str(resource.state))
    note = resource.resource.error or resource.disagreement
    if not resource.fields:
        yield msgspec.structs.replace(row, note=untrusted(note, 400) if note else None)
    for field in resource.fields:
        writer = next(iter(field.ownership.writers), None)
        yield msgspec.structs.replace(
            row,
            field=untrusted(field.change.path, 300),
            git=_side(field.change.desired),
            live=_side(field.change.live),
            writer=untrusted(f"{writer.manager} ({writer.operation}, {writer.kind})", 160)
            if writer is not None
            else None,
        )


def _side(value: Json | Missing) -> Untrusted | None:
    if isinstance(value, Missing):
        return None
    return untrusted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 300)
