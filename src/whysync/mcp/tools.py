"""The tools: names, descriptions, types of arguments and answers. Calls never raise; errors are answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from whysync.deadline import Deadline
from whysync.errors import WhysyncError
from whysync.history.history import History
from whysync.json_tree import Object
from whysync.mcp import diagnose, explain, get_diff, list_apps, list_incidents, plan
from whysync.mcp.answers import Value, structured, text_of
from whysync.mcp.arguments import Arguments
from whysync.mcp.context import ToolContext
from whysync.mcp.errors import ToolError
from whysync.mcp.facts import Facts
from whysync.mcp.untrusted import NOTE, untrusted

_logger = logging.getLogger(__name__)
A = TypeVar("A", bound=Arguments)

INSTRUCTIONS: Final = (
    "whysync explains why Argo CD apps are OutOfSync, Degraded or failed: the cause with evidence, who wrote"
    " the value, whether a sync is safe now, and fixes that were tried in a simulation. For one app, call"
    " diagnose with its name; for a fleet, call list_apps. All tools only read. " + NOTE
)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Value]
    call: Callable[[Any, ToolContext], Value]
    """Takes the arguments of this tool's own type."""

    @property
    def input_schema(self) -> Object:
        return schema_of(self.arguments)

    @property
    def output_schema(self) -> Object:
        return schema_of(self.answer)


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call: an answer, or an error that says what to do next."""

    text: str
    structured: Object | None = None
    is_error: bool = False


TOOLS: Final = (
    Tool(
        name="list_apps",
        title="List broken apps",
        description="List Argo CD apps that need attention, the worst first, with the cause of each, and"
        " causes that several apps share. Filters: cause, sync, health, project, instance, part of the name.",
        arguments=list_apps.ListApps,
        answer=list_apps.AppList,
        call=list_apps.answer,
    ),
    Tool(
        name="diagnose",
        title="Explain an app",
        description="Explain why one Argo CD app is OutOfSync, Degraded, failed or stuck: the cause with"
        " evidence, whether a sync is safe now, and fixes with their proof. One call answers the question.",
        arguments=diagnose.Diagnose,
        answer=diagnose.Diagnosis,
        call=diagnose.answer,
    ),
    Tool(
        name="get_diff",
        title="Differences of an app",
        description="Show the fields that differ between Git and the cluster for one app, and their writers.",
        arguments=get_diff.GetDiff,
        answer=get_diff.Diff,
        call=get_diff.answer,
    ),
    Tool(
        name="explain",
        title="Explain a cause or a message",
        description="Describe a cause or rule of whysync, or find the possible causes of a pasted error"
        " message from Argo CD, Kubernetes, Helm, Kustomize or Git. Without text, list all causes.",
        arguments=explain.Explain,
        answer=explain.Explanation,
        call=explain.answer,
    ),
    Tool(
        name="plan",
        title="Plan a change",
        description="Simulate the sync of a checkout before it is merged: which apps change, what would be"
        " created, changed or deleted, and whether the sync would fail. Reads only the server's checkouts.",
        arguments=plan.Plan,
        answer=plan.PlanAnswer,
        call=plan.answer,
    ),
    Tool(
        name="list_incidents",
        title="List incidents",
        description="List open and past incidents of apps, the newest first: cause, duration, cause changes"
        " and flaps. Needs a server with the history of whysync serve.",
        arguments=list_incidents.ListIncidents,
        answer=list_incidents.IncidentList,
        call=list_incidents.answer,
    ),
)


class Toolbox:
    """Runs one tool at a time, each with a time limit of its own."""

    def __init__(
        self,
        facts: Facts,
        *,
        timeout: float = 0.0,
        checkouts: tuple[Path, ...] = (),
        history: History | None = None,
    ) -> None:
        self._facts = facts
        self._history = history
        self._timeout = timeout
        self._checkouts = tuple(folder.resolve() for folder in checkouts)
        self._tools = {tool.name: tool for tool in TOOLS}
        self._lock = threading.Lock()

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def warm_up(self) -> None:
        """Read the facts before the first question; an error is reported by the question."""
        with self._lock:
            try:
                _ = self._facts.everything(Deadline.after(self._timeout)).cases
            except WhysyncError as problem:
                _logger.info("the facts could not be read yet: %s", problem.what)

    def call(self, tool: Tool, arguments: Mapping[str, object] | None) -> Called:
        try:
            parsed = _parsed(tool, arguments or {})
            with self._lock:
                context = ToolContext(
                    facts=self._facts,
                    deadline=Deadline.after(self._timeout),
                    now=datetime.now(UTC),
                    checkouts=self._checkouts,
                    history=self._history,
                )
                answer = tool.call(parsed, context)
        except WhysyncError as problem:
            return error_result(problem)
        except RecursionError:
            return error_result(ToolError(what="the facts are nested too deeply", next="tell the user"))
        except Exception as problem:
            _logger.debug("tool %s failed", tool.name, exc_info=True)
            return error_result(
                ToolError(
                    what=f"internal error: {type(problem).__name__}",
                    why="this is a bug in whysync, not in your arguments",
                    next="tell the user; whysync mcp -vv logs the details on standard error",
                )
            )
        return Called(text=text_of(answer), structured=structured(answer))


def _parsed(tool: Tool, arguments: Mapping[str, object]) -> Arguments:
    try:
        return msgspec.convert(dict(arguments), type=tool.arguments, strict=False)
    except msgspec.ValidationError as problem:
        names = ", ".join(tool.arguments.__struct_fields__)
        raise ToolError(
            what=f"invalid arguments of {tool.name}: {untrusted(str(problem))}",
            why=f"its arguments are {names}",
            next="correct the argument and call the tool again",
        ) from None


def error_result(problem: WhysyncError) -> Called:
    """What happened, why, and what to do next. Errors of a source can quote a server, so they are marked."""
    if isinstance(problem, ToolError):
        parts = {"error": problem.what, "why": problem.why, "next": problem.next}
    else:
        parts = {
            "error": str(untrusted(problem.what, 600)),
            "why": str(untrusted(problem.why, 600)) if problem.why else "",
            "for the user": str(untrusted(problem.next, 400)) if problem.next else "",
            "next": "report this to the user: the server cannot read its facts",
        }
    lines = [f"{label}: {text}" for label, text in parts.items() if text]
    return Called(text="\n".join((*lines, NOTE)), is_error=True)


def schema_of(type: type[msgspec.Struct]) -> Object:
    """A JSON schema whose root is an object, as the protocol requires."""
    (root,), components = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    schemas = cast("dict[str, Object]", components)
    own = schemas.pop(str(root["$ref"]).rpartition("/")[2])
    return {**own, "$defs": cast("Object", schemas)} if schemas else own
