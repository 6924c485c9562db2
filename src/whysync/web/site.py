"""The routes: which page or API call answers a request, and who may see it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from whysync.errors import WhysyncError
from whysync.history.history import History
from whysync.history.model import AppKey, Incident
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.api.yaml import dump
from whysync.notifications.argocd_hook import HookRequest, handle
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, joined, lines_of, tag
from whysync.watch.fleet import AppState, Fleet
from whysync.web import api
from whysync.web.access import WRONG_TOKEN_SECONDS, Access, Viewer
from whysync.web.app_page import app_page, object_of
from whysync.web.fleet_page import fleet_page
from whysync.web.http import TEXT, Request, Response, html, json_error, json_response, redirect
from whysync.web.incident_pages import incident_page, incidents_page
from whysync.web.metrics import metrics
from whysync.web.page import ASSETS, app_url, asset, page, with_change
from whysync.web.page_cache import PageCache
from whysync.web.sources_page import sources_page

log = logging.getLogger(__name__)
HOOK: Final = "/api/v1/hooks/argocd"
_LONGEST_OBJECT = 20_000
"""Lines of an object that are shown."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """`POST /api/v1/hooks/argocd`: its secret, which is read again each time, and what it starts."""

    secret: Callable[[], str]
    look_at: Callable[[HookRequest], None]


class Site:
    """Answers requests; values in, values out. `GET /api/v1/events` is answered by `asgi.py`."""

    def __init__(self, fleet: Fleet, history: History, access: Access, hook: Hook | None = None) -> None:
        self._hook = hook
        self.fleet = fleet
        self.history = history
        self.access = access
        self._cache = PageCache(lambda: fleet.last_change)

    def respond(self, request: Request) -> Response:
        try:
            return self._respond(request)
        except WhysyncError as problem:  # the database is away
            return self._error(request, HTTPStatus.SERVICE_UNAVAILABLE, problem.what)
        except Exception:  # a crash of one page is not one of the server
            log.exception("%s %s failed", request.method, request.path)
            return self._error(request, HTTPStatus.INTERNAL_SERVER_ERROR, "whysync could not build this page")

    def _respond(self, request: Request) -> Response:
        if request.path == "/healthz":
            return Response(body=b"ok\n", content_type=TEXT)
        if request.path == "/readyz":
            ready = self.fleet.is_ready
            return Response(
                status=200 if ready else 503, body=b"ready\n" if ready else b"reading\n", content_type=TEXT
            )
        if request.path.startswith("/static/"):
            return self._asset(request)
        if request.path == "/login" and self.access.takes_token:
            return self._login(request)
        if request.path == HOOK and request.method == "POST":
            return self._look_now(request)
        if request.method not in ("GET", "HEAD"):
            return self._error(request, HTTPStatus.METHOD_NOT_ALLOWED, "whysync serve only reads")
        viewer = self.access.viewer(request)
        if viewer is None:
            return self._refused(request)
        return self._page(request, viewer)

    def _look_now(self, request: Request) -> Response:
        """Argo CD reports an event of an app; the sender proves itself with the secret of the hook."""
        secret = self._hook.secret() if self._hook is not None else ""
        result = handle(request.body, request.headers.get("authorization", ""), secret)
        if self._hook is not None and result.request is not None:
            self._hook.look_at(result.request)
        return Response(status=result.code, body=result.text.encode(), content_type=TEXT)

    def _page(self, request: Request, viewer: Viewer) -> Response:
        change = self.fleet.last_change  # before anything is read
        known = _number(request.headers.get("x-whysync-change", ""))
        key = (viewer.name, viewer.projects, frozenset(request.query.items()), self.fleet.database_problem)
        parts = tuple(unquote(part) for part in request.path.strip("/").split("/"))
        match parts:
            case ("",):
                return self._cache.get(
                    ("fleet", *key), lambda: self._fleet_page(viewer, request.query), after=known
                )
            case ("apps", instance, namespace, name, *rest) if rest in ([], ["objects"]):
                state = self._app(AppKey(instance, namespace, name), viewer)
                if state is None:
                    return self._missing_app(viewer, change)
                if rest:
                    return html(with_change(self._object_page(state, request, viewer), change))
                return html(with_change(app_page(state, self.fleet, self.history, viewer), change))
            case ("incidents",):
                return self._cache.get(
                    ("incidents", *key), lambda: self._incidents_page(viewer, request.query), after=known
                )
            case ("incidents", id):
                incident = self._incident(id, viewer)
                if incident is not None:
                    return html(
                        with_change(incident_page(incident, self.fleet, self.history, viewer), change)
                    )
            case ("sources",):
                return html(with_change(sources_page(self.fleet, self.history, viewer), change))
            case ("metrics",) if viewer.projects is None:
                return metrics(self.fleet, self.history)
            case ("api", "v1", *call):
                return self._api(tuple(call), request, viewer)
            case _:
                pass
        return self._error(request, HTTPStatus.NOT_FOUND, "there is no such page")

    def _fleet_page(self, viewer: Viewer, query: Mapping[str, str]) -> Response:
        """The fleet is shown without the history, too, if the database is away."""
        change = self.fleet.last_change
        seen: Mapping[AppKey, datetime] = {}
        with suppress(WhysyncError):
            seen = self.history.open_since()
        return html(with_change(fleet_page(self.fleet, viewer, query, seen), change))

    def _incidents_page(self, viewer: Viewer, query: Mapping[str, str]) -> Response:
        change = self.fleet.last_change
        return html(with_change(incidents_page(self.fleet, self.history, viewer, query), change))

    def _api(self, call: tuple[str, ...], request: Request, viewer: Viewer) -> Response:
        match call:
            case ("apps",):
                return api.apps(self.fleet, viewer, request.query)
            case ("apps", instance, namespace, name):
                state = self._app(AppKey(instance, namespace, name), viewer)
                if state is not None:
                    return api.app_report(state)
            case ("incidents",):
                return api.incidents(self.history, viewer, request.query)
            case ("incidents", id):
                incident = self._incident(id, viewer)
                if incident is not None:
                    return api.incident(incident, self.history)
            case ("openapi.json",):
                return json_response(api.openapi())
            case _:
                pass
        return json_error(HTTPStatus.NOT_FOUND, "not found")

    # --- lookups -----------------------------------------------------------------------------------

    def _app(self, key: AppKey, viewer: Viewer) -> AppState | None:
        """What a viewer may not see does not exist for them."""
        state = self.fleet.app(key)
        return state if state is not None and viewer.sees(state) else None

    def _incident(self, id: str, viewer: Viewer) -> Incident | None:
        incident = self.history.incident(_number(id))
        return incident if incident is not None and viewer.sees(incident) else None

    # --- small pages -------------------------------------------------------------------------------

    def _asset(self, request: Request) -> Response:
        name = request.path.removeprefix("/static/")
        if name not in ASSETS:
            return self._error(request, HTTPStatus.NOT_FOUND, "there is no such file")
        keep = ("Cache-Control", "public, max-age=31536000, immutable")
        return Response(body=asset(name), content_type=ASSETS[name], headers=(keep,))

    def _object_page(self, state: AppState, request: Request, viewer: Viewer) -> Safe:
        """An object of the facts as YAML: the Application, or one that evidence cites.

        The facts may have objects of apps that the viewer may not see; what the report cites is theirs.
        """
        case, query = state.report.case, request.query
        manifest = case.application
        if query.get("kind"):
            key = Key(
                query.get("group", ""), query["kind"], query.get("namespace", ""), query.get("name", "")
            )
            cited = any(e.ref.key == key for finding in state.report.findings for e in finding.evidence)
            found = object_of(case, query.get("source", ""), key) if cited else None
            if found is None:
                return _message("Not found", "This object is no longer in the facts.", self.fleet, viewer)
            manifest = found
        text = dump(manifest.body)
        title = f"{manifest.ref}"
        body = [
            tag(
                "p",
                tag("a", "Fleet", href="/"),
                " / ",
                tag("a", one_line(state.key.name, 120), href=app_url(state.key)),
                class_="crumbs soft",
            ),
            tag("h1", one_line(title, 200)),
            tag(
                "p",
                f"{manifest.role.value}, {one_line(manifest.origin, 200)}. Secrets are masked.",
                class_="soft",
            ),
            tag(
                "div",
                tag(
                    "button",
                    "Copy",
                    type="button",
                    class_="copy",
                    data_copy="object",
                    aria_label="Copy the object",
                ),
                tag(
                    "pre",
                    tag("code", joined(lines_of(text, _LONGEST_OBJECT), "\n")),
                    id="object",
                    tabindex="0",
                ),
                class_="code-box",
            ),
        ]
        return page(title, body, fleet=self.fleet, viewer=viewer)

    def _missing_app(self, viewer: Viewer, change: int) -> Response:
        text = "There is no such app, or it is not one that you may see."
        message = _message("App not found", text, self.fleet, viewer)
        return html(with_change(message, change), status=404)

    # --- access and errors -------------------------------------------------------------------------

    def _login(self, request: Request) -> Response:
        target = _local(request.query.get("next", "/"))
        wrong = False
        if request.method == "POST":
            limit = self.access.sign_in_limit
            if limit.is_reached(request.peer):
                text = "too many wrong tokens; try again in a minute"
                refused = self._error(request, HTTPStatus.TOO_MANY_REQUESTS, text)
                retry = ("Retry-After", str(WRONG_TOKEN_SECONDS))
                return msgspec.structs.replace(refused, headers=(*refused.headers, retry))
            if self.access.is_token(request.form.get("token", "").strip()):
                secure = request.headers.get("x-forwarded-proto") == "https"
                return redirect(target, self.access.new_session(secure=secure))
            limit.wrong(request.peer)
            wrong = True
        form = tag(
            "form",
            tag(
                "label",
                "Access token ",
                tag(
                    "input",
                    type="password",
                    name="token",
                    autocomplete="current-password",
                    required="required",
                    autofocus="autofocus",
                ),
            ),
            tag("button", "Sign in", type="submit"),
            tag("p", "This token is not valid.", class_="bad", role="alert") if wrong else "",
            method="post",
            action=f"/login?next={quote(target, safe='')}",
            class_="login panel",
        )
        body = [tag("h1", "Sign in"), form]
        return html(page("Sign in", body, fleet=None, viewer=Viewer()), status=401 if wrong else 200)

    def _refused(self, request: Request) -> Response:
        if self.access.is_open:
            return self._error(
                request,
                HTTPStatus.FORBIDDEN,
                "without a token, whysync answers only to localhost and 127.0.0.1",
            )
        wants_page = "text/html" in request.headers.get("accept", "")
        if self.access.takes_token and wants_page:
            return redirect(f"/login?next={quote(request.path, safe='')}")
        return self._error(request, HTTPStatus.UNAUTHORIZED, "an access token is needed")

    def _error(self, request: Request, status: HTTPStatus, text: str) -> Response:
        if request.path.startswith("/api/"):
            return json_error(status, text)
        message = f"{text[:1].upper()}{text[1:]}."
        return html(_message(status.phrase, message, None, Viewer()), status=status.value)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 16 else 0


def _message(title: str, text: str, fleet: Fleet | None, viewer: Viewer) -> Safe:
    body: list[Xml] = [tag("h1", title), tag("p", text), tag("p", tag("a", "To the fleet", href="/"))]
    return page(title, body, fleet=fleet, viewer=viewer)


def _local(target: str) -> str:
    """A path of this site; never another site."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\")) and "\n" not in target
    return target if is_path else "/"
