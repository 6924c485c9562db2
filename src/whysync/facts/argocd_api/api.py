"""Requests to Argo CD's API. All are GETs, but some of them write.

`GET …/applications/NAME?refresh=` writes an annotation and is only sent for `--refresh`. Requests that are
answered from Argo CD's cache (`tree`, `managed`, `resource`, events of a resource, `logs`) make Argo CD
refresh an Application that is not in the cache; `is_cached` predicts this, so that they are not sent.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import cast
from urllib.parse import quote

import msgspec

from whysync.errors import UsageError
from whysync.facts.argocd_api.responses import AppId, ContainerLog, Node, parse_log_stream
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.http.auth import Auth, StaticHeaders, TokenFile, WithHeaders, bearer
from whysync.facts.http.client import Client, Params
from whysync.facts.http.errors import HttpError, NotAuthenticated, NotTrusted, TimedOut, Unreachable
from whysync.facts.selection import Refresh, Selection
from whysync.json_tree import Object, dig, text

# How long the controller keeps the state of an app by default (controller.app.state.cache.expiration).
_KEPT = timedelta(hours=1)
# After this many failed requests in a row no more are sent. A timeout counts more: each takes a minute.
_MAX_FAILURES = 9
_SILENCE = 3
_LONGEST_TOKEN = 16 << 10


class Api:
    """Requests to one server. Errors are `HttpError`s; a server that is unreachable gets no more requests."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._failures = 0
        self._unreachable: HttpError | None = None

    # --- everything ------------------------------------------------------------------------------

    async def version(self) -> Object:
        return await self._object("/api/version")

    async def settings(self) -> Object:
        return await self._object("/api/v1/settings")

    async def projects(self) -> Object:
        return await self._object("/api/v1/projects")

    async def project(self, name: str) -> Object:
        return await self._object(f"/api/v1/projects/{_part(name)}")

    async def global_projects(self, name: str) -> Object:
        """The projects whose lists the project inherits."""
        return await self._object(f"/api/v1/projects/{_part(name)}/globalprojects")

    async def clusters(self) -> Object:
        return await self._object("/api/v1/clusters")

    async def repositories(self) -> Object:
        return await self._object("/api/v1/repositories")

    async def whoami(self) -> Object:
        return await self._object("/api/v1/session/userinfo")

    async def can_i(self, resource: str, action: str, app: AppId, *, home: str) -> str:
        """`yes` or `no`. An app outside Argo CD's own namespace (`home`) is named with its namespace."""
        subresource = f"{app.project or 'default'}/{app.name}"
        if app.namespace not in ("", home):
            subresource = f"{app.project or 'default'}/{app.namespace}/{app.name}"
        response = await self._object(
            f"/api/v1/account/can-i/{resource}/{action}/{quote(subresource, safe='/')}"
        )
        return text(response.get("value"))

    # --- Applications ----------------------------------------------------------------------------

    async def applications(self, selection: Selection, *, namespace: str = "", name: str = "") -> Object:
        """Applications, filtered by the server: by labels, projects, a name and a namespace."""
        query: dict[str, str | list[str]] = {}
        if selection.projects:
            query["projects"] = list(selection.projects)
        if selection.selector:
            query["selector"] = selection.selector
        if namespace:
            query["appNamespace"] = namespace
        if name:
            query["name"] = name
        return await self._object("/api/v1/applications", query)

    async def application_set(self, name: str, *, namespace: str = "") -> Object:
        query: dict[str, str | list[str]] = {"appsetNamespace": namespace} if namespace else {}
        return await self._object(f"/api/v1/applicationsets/{_part(name)}", query)

    async def application(self, app: AppId, *, refresh: Refresh = "") -> Object:
        """One Application. With `refresh` Argo CD annotates it and compares it again."""
        query = _of(app)
        if refresh:
            query["refresh"] = refresh
        return await self._object(f"/api/v1/applications/{_part(app.name)}", query)

    async def events(self, app: AppId) -> Object:
        """Events of the Application itself."""
        return await self._object(f"/api/v1/applications/{_part(app.name)}/events", _of(app))

    async def windows(self, app: AppId) -> Object:
        return await self._object(f"/api/v1/applications/{_part(app.name)}/syncwindows", _of(app))

    async def manifests(
        self, app: AppId, revisions: tuple[str, ...] = (), *, several: bool = False
    ) -> Object:
        """What the sources render to at these commits; usually in the cache of the repo-server."""
        query: dict[str, str | list[str]] = {**_of(app)}
        if several and revisions:
            query["sourcePositions"] = [str(at + 1) for at in range(len(revisions))]
            query["revisions"] = list(revisions)
        elif revisions:
            query["revision"] = revisions[0]
        return await self._object(f"/api/v1/applications/{_part(app.name)}/manifests", query)

    # --- from Argo CD's cache: see `is_cached` -----------------------------------------------------

    async def tree(self, app: AppId) -> Object:
        return await self._object(f"/api/v1/applications/{_part(app.name)}/resource-tree", _of(app))

    async def managed(self, app: AppId) -> Object:
        return await self._object(f"/api/v1/applications/{_part(app.name)}/managed-resources", _of(app))

    async def resource(self, app: AppId, node: Node) -> Object:
        """One live object, read from its cluster; `manifest` contains it as a string."""
        name_query = {"namespace": node.namespace, "resourceName": node.name, "version": node.version}
        query = {**_of(app), **name_query, "group": node.group, "kind": node.kind}
        return await self._object(f"/api/v1/applications/{_part(app.name)}/resource", query)

    async def events_about(self, app: AppId, node: Node) -> Object:
        query = {
            **_of(app),
            "resourceNamespace": node.namespace,
            "resourceName": node.name,
            "resourceUID": node.uid,
        }
        return await self._object(f"/api/v1/applications/{_part(app.name)}/events", query)

    async def logs(
        self, app: AppId, namespace: str, pod: str, container: str, *, lines: int, previous: bool
    ) -> ContainerLog:
        """The end of a log. It is not followed, so the response ends."""
        query = {**_of(app), "namespace": namespace, "container": container, "tailLines": str(lines)}
        query |= {"follow": "false", "previous": "true" if previous else "false"}
        path = f"/api/v1/applications/{_part(app.name)}/pods/{_part(pod)}/logs"
        self._check_reachable()
        try:
            response = await self.client.get(path, query)
        except HttpError as problem:
            raise self._recorded(problem) from problem
        self._failures = 0
        return parse_log_stream(response.body.split(b"\n"))

    # --- transport -------------------------------------------------------------------------------

    async def _object(self, path: str, query: Params | None = None) -> Object:
        self._check_reachable()
        try:
            response = await self.client.object(path, query)
        except HttpError as problem:
            raise self._recorded(problem) from problem
        self._failures = 0
        return response

    def _check_reachable(self) -> None:
        if self._unreachable is not None:
            raise self._unreachable

    def _recorded(self, problem: HttpError) -> HttpError:
        if isinstance(problem, Unreachable | NotTrusted | NotAuthenticated):
            self._failures += _SILENCE if isinstance(problem, TimedOut) else 1
            if self._failures >= _MAX_FAILURES:
                self._unreachable = problem
        return problem


def client_for(server: ArgoServer) -> Client:
    server = server.checked()
    return Client(
        server.base_url,
        name=_name(server),
        auth=_auth(server),
        tls=server.tls,
        limits=server.limits,
        setting=server.setting,
        login=login_hint(server),
    )


def _auth(server: ArgoServer) -> Auth:
    auth: Auth = StaticHeaders()
    if server.token_file:
        from pathlib import Path

        auth = TokenFile(Path(server.token_file).expanduser(), fallback=server.token)
    elif server.token:
        _check_token(server.token)
        auth = bearer(server.token)
    if not server.headers:
        return auth
    return WithHeaders(auth, dict(server.headers), secrets=[value for _, value in server.headers])


def _check_token(token: str) -> None:
    if any(ord(letter) < 33 or ord(letter) > 126 for letter in token):
        raise UsageError(
            what="the token has letters in it that no token has",
            why="a line break or a blank, perhaps from copying",
            next="copy it again, or give it as a file: --auth-token-file PATH",
        )


def login_hint(server: ArgoServer, *, now: datetime | None = None) -> str:
    """How to log in again: the command for this server, and when its token expired."""
    claims = _claims(server.token) if not server.token_file else {}
    of_context = f" of context {server.context}" if server.context else ""
    expires = claims.get("exp")
    state = "this one is wrong or has expired"
    if isinstance(expires, int | float) and 0 < expires < (now or datetime.now(UTC)).timestamp():
        state = f"the token{of_context} expired at {datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M} UTC"
    if server.token_file:
        return f"write a new token to {server.token_file}: {state}"
    sso = " --sso" if claims and claims.get("iss") != "argocd" else ""
    root = f" --grpc-web-root-path {quote(server.root_path)}" if server.root_path else ""
    plaintext = " --plaintext" if server.plaintext else ""
    host = server.base_url.partition("://")[2].partition("/")[0]
    where = f"{host}{sso}{root}{plaintext}"
    if server.forward is not None:
        namespace = server.forward.namespace
        where = f"--port-forward{f' --port-forward-namespace {namespace}' if namespace else ''}{sso}"
    return f"log in again (argocd login {where}), or give another token: {state}"


def _claims(token: str) -> Object:
    """The content of a JSON web token, which is not verified; empty if it is none."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > _LONGEST_TOKEN:
        return {}
    try:
        decoded = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, msgspec.DecodeError):
        return {}
    return cast("Object", decoded) if isinstance(decoded, dict) else {}


def _name(server: ArgoServer) -> str:
    return f"Argo CD at {server.base_url.partition('://')[2]}"


def is_cached(app: Object, now: datetime | None) -> bool:
    """Is the state of this Application in Argo CD's cache, or would a request cause a refresh?

    It was compared, and not longer ago than states are kept. With an error condition it is not refreshed:
    Argo CD returns the error instead (`getCachedAppState`, 3.6).
    """
    conditions = dig(app, "status", "conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if text(dig(condition, "type")) in ("ComparisonError", "InvalidSpecError"):
            return True
    compared = text(dig(app, "status", "reconciledAt"))
    try:
        at = datetime.fromisoformat(compared)
    except ValueError:
        return False
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return now is None or now - at < _KEPT


def _of(app: AppId) -> dict[str, str]:
    params = {"appNamespace": app.namespace, "project": app.project}
    return {name: value for name, value in params.items() if value}


def _part(name: str) -> str:
    return quote(name, safe="")
