"""Tool `plan`: what the head of a checkout would change in the cluster, before it is merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Annotated

import msgspec

from whysync import app
from whysync.argocd.repo_server.git import GitFailed
from whysync.errors import WhysyncError
from whysync.mcp.answers import Page, Value
from whysync.mcp.arguments import Arguments, CursorText, Filter, Limit, Path
from whysync.mcp.context import ToolContext, page_of
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import Untrusted, name, untrusted
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import AppPlan, Change
from whysync.reports.plan_summary import verdict_text
from whysync.reports.plan_text import change_text, worst_first

_MOST_CHANGES = 12
_MOST_NOTES = 5


class Plan(Arguments, frozen=True, kw_only=True):
    checkout: Annotated[Path, msgspec.Meta(description="folder of the checkout; default: the first one")] = ""
    path: Annotated[Path, msgspec.Meta(description="only this file or folder, relative to the checkout")] = ""
    app: Annotated[Filter, msgspec.Meta(description="only the app of this name")] = ""
    base: Annotated[Filter, msgspec.Meta(description="base revision (default: the merge base)")] = ""
    head: Annotated[Filter, msgspec.Meta(description="head revision (default: the working tree)")] = ""
    live: Annotated[bool, msgspec.Meta(description="also simulate on the cluster of the facts")] = True
    limit: Limit = 20
    cursor: CursorText = ""


class AppOutcome(Value, frozen=True, kw_only=True):
    """What would happen to one app; `verdict` is fail, delete, unknown or pass."""

    app: str
    verdict: str
    says: Untrusted
    cause: str = ""
    fix: Untrusted | None = None
    counts: str = ""
    changes: tuple[Untrusted, ...] = ()


class PlanAnswer(Page, frozen=True, kw_only=True):
    base: Untrusted
    head: Untrusted
    verdict: str
    touched: int
    untouched: int
    apps: tuple[AppOutcome, ...] = ()
    notes: tuple[Untrusted, ...] = ()


def answer(arguments: Plan, context: ToolContext) -> PlanAnswer:
    reading, offset = context.start_of_page("plan", arguments)
    root = _allowed(arguments, context)
    source, live = _live(arguments, context)
    try:
        with open_checkout(str(root), base=arguments.base, head=arguments.head) as checkout:
            scope = _scope(arguments, checkout.root.resolve(), checkout.head.tree.root)
            plan, _ = app.plan(checkout, scope, source=source, live=live, deadline=context.deadline)
            commits = f"{checkout.base.commit[:12]}-{checkout.head.commit[:12]}"
    except GitFailed as problem:
        raise WhysyncError(
            what=f"git failed: {problem.message}", why=problem.complaint, next="check the revisions"
        ) from problem
    if reading and reading != commits:
        raise ToolError(
            what="the cursor is outdated",
            why="the checkout is at another commit",
            next="call plan again without cursor",
        )
    touched = sorted(plan.apps, key=worst_first)

    def build(shown: Sequence[AppPlan]) -> PlanAnswer:
        return PlanAnswer(
            base=untrusted(plan.base, 120),
            head=untrusted(plan.head, 120),
            verdict=plan.verdict.value,
            touched=len(touched),
            untouched=len(plan.untouched),
            apps=tuple(_outcome(planned) for planned in shown),
            notes=tuple(untrusted(note, 300) for note in (*plan.notes, *plan.not_planned)[:_MOST_NOTES]),
        )

    return page_of("plan", arguments, commits, touched, build, offset=offset, most_items=arguments.limit)


def _allowed(arguments: Plan, context: ToolContext) -> FilePath:
    """The checkout to plan: only folders that the server was started with, and what is in them."""
    if not context.checkouts:
        raise ToolError(
            what="this server may not read a checkout",
            why="plan reads only folders that the server was started with",
            next="ask the user to start it with whysync mcp --checkout DIR",
        )
    folder = FilePath(arguments.checkout) if arguments.checkout else context.checkouts[0]
    if not folder.is_absolute():
        folder = context.checkouts[0] / folder
    root = folder.resolve()
    if not any(root.is_relative_to(allowed) for allowed in context.checkouts):
        named = ", ".join(str(allowed) for allowed in context.checkouts[:5])
        raise ToolError(
            what="this folder is not one of the server's checkouts",
            why=f"the server was started with {named}",
            next="leave checkout out, or pass one of these folders",
        )
    return root


def _live(arguments: Plan, context: ToolContext) -> tuple[app.FactSource | None, app.Snapshot | None]:
    if not arguments.live or not context.has_source:
        return None, None
    source = context.facts.source(context.deadline)
    live = app.applications_snapshot(source)
    return (source, live) if live.applications else (None, None)


def _scope(arguments: Plan, root: FilePath, head: FilePath) -> app.PlanScope:
    """The path within the checkout, or the name of an app."""
    if not arguments.path:
        return app.PlanScope(name=arguments.app)
    inside = (root / arguments.path).resolve()
    if not inside.is_relative_to(root):
        raise ToolError(
            what="the path is outside of the checkout",
            why="plan reads only files of the checkout",
            next="pass a path relative to the checkout",
        )
    relative = inside.relative_to(root).as_posix()
    if not (head / relative).exists():
        raise ToolError(
            what=f"{name(arguments.path)} does not exist in the head revision",
            next="pass a file or folder of the checkout, or leave path out",
        )
    if (head / relative).is_file():
        return app.PlanScope(file=relative, name=arguments.app)
    return app.PlanScope(path="" if relative == "." else relative, name=arguments.app)


def _outcome(planned: AppPlan) -> AppOutcome:
    first = planned.causes[0].finding if planned.causes else None
    return AppOutcome(
        app=name(planned.name),
        verdict=planned.verdict.value,
        says=untrusted(verdict_text(planned), 500),
        cause=first.cause if first is not None else "",
        fix=untrusted(first.fixes[0].title, 300) if first is not None and first.fixes else None,
        counts=_counts(planned.changes),
        changes=tuple(untrusted(change_text(change), 200) for change in planned.changes[:_MOST_CHANGES]),
    )


def _counts(changes: Sequence[Change]) -> str:
    counts = Counter(change.sort.value for change in changes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
