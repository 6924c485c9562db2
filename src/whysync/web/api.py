"""The read API: apps, their reports, incidents. The same values as on the pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from whysync import __version__
from whysync.diagnosis.report import Report
from whysync.history.history import History
from whysync.history.model import AppKey, Incident
from whysync.json_tree import Json, Object
from whysync.reports.diagnose_json import report_v1
from whysync.reports.json_yaml import tree
from whysync.watch.fleet import AppState, Fleet
from whysync.web.access import Viewer
from whysync.web.fleet_page import COLUMNS, Filter
from whysync.web.http import Response, json_error, json_response
from whysync.web.incident_pages import filter_of

_DEFAULT_LIMIT: Final = 100
_MOST: Final = 500


def apps(fleet: Fleet, viewer: Viewer, query: Mapping[str, str]) -> Response:
    """`GET /api/v1/apps`: by name, in pages of `limit`; `continue` is the token of the next page."""
    limit = _limit(query)
    start = _start(query)
    if limit is None or start is None:
        return json_error(HTTPStatus.BAD_REQUEST, "invalid limit or continue")
    wanted = Filter.of(query)
    matching = sorted(
        (state for state in fleet.apps() if viewer.sees(state) and wanted.matches(state)),
        key=lambda state: state.key,
    )
    page = [state for state in matching if start == () or tuple(state.key) > start][: limit + 1]
    shown, more = page[:limit], len(page) > limit
    body: Object = {"version": 1, "apps": [_summary(state) for state in shown], "total": len(matching)}
    if more:
        body["continue"] = _token(shown[-1].key)
    return json_response(body)


def _limit(query: Mapping[str, str]) -> int | None:
    text = query.get("limit", str(_DEFAULT_LIMIT))
    return min(int(text), _MOST) if text.isdecimal() and 0 < len(text) < 9 and int(text) > 0 else None


def _start(query: Mapping[str, str]) -> tuple[str, ...] | None:
    token = query.get("continue", "")
    if not token:
        return ()
    try:
        return tuple(msgspec.json.decode(base64.urlsafe_b64decode(token), type=list[str]))
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        return None


def _token(key: AppKey) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(list(key))).decode()


def _summary(state: AppState) -> Object:
    labels: dict[str, Json] = dict(state.labels)
    row = state.row
    return {
        "instance": state.key.instance,
        "namespace": state.key.namespace,
        "name": state.key.name,
        "project": row.project,
        "cluster": row.cluster,
        "destination": row.destination,
        "labels": labels,
        "sync": row.sync,
        "health": row.health,
        "state": "broken" if state.broken else "in-progress" if state.in_progress else "fine",
        "severity": row.severity if state.broken else "",
        "cause": row.cause,
        "verdict": row.verdict,
        "since": _time(state.since),
        "seenAt": _time(state.seen_at),
    }


def _time(value: object) -> str | None:
    from datetime import datetime

    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if isinstance(value, datetime) else None


def app_report(state: AppState) -> Response:
    """`GET /api/v1/apps/{instance}/{namespace}/{name}`: the JSON report of `diagnose`, with one app."""
    report = Report(apps=(state.report,), groups=(), unread=state.report.gaps)
    return json_response(tree(report_v1(report)))


def incidents(history: History, viewer: Viewer, query: Mapping[str, str]) -> Response:
    limit = _limit(query)
    if limit is None:
        return json_error(HTTPStatus.BAD_REQUEST, "invalid limit")
    found = history.incidents(msgspec.structs.replace(filter_of(query, viewer), limit=limit))
    shown: list[Json] = [incident_v1(incident) for incident in found]
    body: Object = {"version": 1, "incidents": shown}
    if len(found) == limit:
        body["continue"] = str(found[-1].id)
    return json_response(body)


def incident_v1(incident: Incident) -> Object:
    problem = incident.problem
    labels: dict[str, Json] = dict(incident.labels)
    return {
        "id": incident.id,
        "instance": incident.app.instance,
        "namespace": incident.app.namespace,
        "name": incident.app.name,
        "project": incident.project,
        "cluster": incident.cluster,
        "labels": labels,
        "outbreak": incident.outbreak,
        "cause": problem.cause,
        "rule": problem.rule,
        "severity": problem.severity,
        "verdict": problem.verdict,
        "root": problem.root,
        "fix": problem.fix,
        "firstCause": incident.first_cause,
        "openedAt": _time(incident.opened_at),
        "recoveredAt": _time(incident.recovered_at),
        "closedAt": _time(incident.closed_at),
        "flaps": incident.flaps,
        "causeChanges": incident.cause_changes,
    }


def incident(found: Incident, history: History) -> Response:
    events: list[Json] = [
        {
            "at": _time(event.at),
            "kind": event.kind.value,
            "cause": event.cause,
            "detail": event.detail,
            "text": event.text,
        }
        for event in history.timeline_of_incident(found.id)
    ]
    return json_response({**incident_v1(found), "version": 1, "timeline": events})


def openapi() -> Object:
    """`GET /api/v1/openapi.json`."""
    text: Object = {"type": "string"}

    def parameter(name: str, where: str = "query") -> Object:
        return {"name": name, "in": where, "required": where == "path", "schema": text}

    def operation(summary: str, *parameters: Object, content: str = "application/json") -> Object:
        return {
            "get": {
                "summary": summary,
                "parameters": list(parameters),
                "responses": {"200": {"description": "OK", "content": {content: {}}}},
            }
        }

    key = [parameter(name, "path") for name in ("instance", "namespace", "name")]
    page = (parameter("limit"), parameter("continue"))
    app_filters = [parameter(name) for name in ("q", *COLUMNS, "label")]
    incident_filters = [
        parameter(name)
        for name in ("open", "app", "cause", "project", "label", "severity", "instance", "outbreak")
    ]
    hook: Object = {
        "type": "object",
        "required": ["app"],
        "properties": {"app": text, "namespace": text, "instance": text},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "whysync", "version": __version__},
        "paths": {
            "/api/v1/apps": operation("Apps with their causes", *app_filters, *page),
            "/api/v1/apps/{instance}/{namespace}/{name}": operation("The report of one app", *key),
            "/api/v1/incidents": operation("Incidents, the newest first", *incident_filters, *page),
            "/api/v1/incidents/{id}": operation("One incident with its timeline", parameter("id", "path")),
            "/api/v1/events": operation("Changes as server-sent events", content="text/event-stream"),
            "/api/v1/hooks/argocd": {
                "post": {
                    "summary": "Look at an app now; Argo CD's notifications send it",
                    "requestBody": {"content": {"application/json": {"schema": hook}}},
                    "responses": {"202": {"description": "Accepted"}},
                }
            },
            "/metrics": operation("Metrics for Prometheus", content="text/plain"),
            "/healthz": operation("Is the process alive", content="text/plain"),
            "/readyz": operation("Has every source been read", content="text/plain"),
        },
    }
